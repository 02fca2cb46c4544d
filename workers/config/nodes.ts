import { z } from 'zod';
import { show } from '../../handlers/text';
import type { NodeSettings } from '../../activities/nodes/settings';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import type { Problem } from '../../handlers';
import { settingsProblems } from '../../workflows/planning/nodes/settings';

/**
 * `nodes` of the config file: how partitions are spread over the nodes that read it (B4, B13, B17).
 * Times in milliseconds.
 */

const whole = (min: number, max: number) =>
  z.custom<number>((value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max, {
    error: (issue) => `expected a whole number from ${min} to ${max}, got ${show(issue.input)}`,
  });
const HOUR_MS = 3_600_000;

export const NODE_NAME = '1-128 characters of a-z, A-Z, 0-9, _, - and .';
export const isNodeName = (name: unknown): name is string => typeof name === 'string' && /^[\w.-]{1,128}$/.test(name);

export const nodeShape = {
  name: z
    .custom<string>(isNodeName, { error: (issue) => `expected ${NODE_NAME}, got ${show(issue.input)}` })
    .optional(),
  attributes: z
    .record(z.string(), z.string(), {
      error: (issue) => `expected texts by name, such as {"zone": "eu"}, got ${show(issue.input)}`,
    })
    .optional(),
  leaseMs: whole(1_000, HOUR_MS).optional(),
  maxLeaseMs: whole(1_000, HOUR_MS).optional(),
  shutdownLimitMs: whole(1, HOUR_MS).optional(),
  minimumHoldMs: whole(0, HOUR_MS).optional(),
  restartGraceMs: whole(0, HOUR_MS).optional(),
  movesPerRound: whole(1, 100_000).optional(),
  by: z
    .custom<'count' | 'load'>((value) => value === 'count' || value === 'load', {
      error: (issue) => `expected 'count' or 'load', got ${show(issue.input)}`,
    })
    .optional(),
};

export type NodeFileSettings = { [K in keyof typeof nodeShape]?: z.infer<(typeof nodeShape)[K]> | undefined };

/** `name`: of the environment, before that of a file that many nodes read. */
export const nodeSettings = (file: NodeFileSettings, name: string | undefined): NodeSettings => {
  const given = Object.fromEntries(Object.entries(file).filter(([, value]) => value !== undefined));
  return { ...DEFAULT_NODE_SETTINGS, ...given, ...(name === undefined ? {} : { name }) };
};

/** Relations between the times (B4). */
export const nodeProblems = (settings: NodeSettings): Problem[] => {
  const { leaseMs, maxLeaseMs, shutdownLimitMs, minimumHoldMs, restartGraceMs } = settings;
  const times = {
    leaseMs,
    maxLeaseMs,
    shutdownLimitMs,
    minimumHoldMs,
    restartGraceMs,
    renewEveryMs: Math.floor(leaseMs / 3),
  };
  return settingsProblems(times).map((text) => {
    const [field, ...rest] = text.split(': ');
    return { path: `nodes.${field}`, message: rest.join(': ') };
  });
};

import type { z } from 'zod';
import { attributes, checked, setting, whole } from './checked';
import type { NodeSettings } from '../../activities/nodes/settings';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import type { Problem } from '../../handlers';
import { settingsProblems } from '../../workflows/planning/nodes/settings';

/**
 * `nodes` of the config file: how partitions are spread over the nodes that read it. Times in
 * milliseconds.
 */

const HOUR_MS = 3_600_000;

export const NODE_NAME = '1-128 characters of a-z, A-Z, 0-9, _, - and .';
export const isNodeName = (name: unknown): name is string => typeof name === 'string' && /^[\w.-]{1,128}$/.test(name);

const DEFAULTS = DEFAULT_NODE_SETTINGS;

export const nodeShape = {
  name: setting(
    checked<string>(NODE_NAME, isNodeName),
    'Name of the node, the same after a restart; one process per name. `--node-name` and `MUSTER_NODE_NAME` go first.',
    'none',
  ),
  attributes: setting(attributes, 'Attributes of the node, which `affinity.attributes` of a handler ask for.', 'none'),
  leaseMs: setting(
    whole(1_000, HOUR_MS),
    'How long a partition is held without a renewal; renewed at a third of it.',
    DEFAULTS.leaseMs,
  ),
  maxLeaseMs: setting(
    whole(1_000, HOUR_MS),
    'How long the main thread may be silent before the node’s partitions pass on.',
    DEFAULTS.maxLeaseMs,
  ),
  shutdownLimitMs: setting(
    whole(1, HOUR_MS),
    'How long a node may take to end its calls once a partition is asked back.',
    DEFAULTS.shutdownLimitMs,
  ),
  minimumHoldMs: setting(
    whole(0, HOUR_MS),
    'How long a partition that has moved stays, unless its node goes.',
    DEFAULTS.minimumHoldMs,
  ),
  restartGraceMs: setting(
    whole(0, HOUR_MS),
    'How long a named node that stopped cleanly keeps its partitions.',
    DEFAULTS.restartGraceMs,
  ),
  movesPerRound: setting(
    whole(1, 100_000),
    'Most partitions that are asked back in one round.',
    DEFAULTS.movesPerRound,
  ),
  by: setting(
    checked<'count' | 'load'>("'count' or 'load'", (value) => value === 'count' || value === 'load'),
    'What is spread evenly: partitions, or the batches they sent in the last minute.',
    DEFAULTS.by,
  ),
};

export type NodeFileSettings = { [K in keyof typeof nodeShape]?: z.infer<(typeof nodeShape)[K]> | undefined };

/**
 * Returns the settings of a node. `name`: from the environment, which precedes a file that many
 * nodes read.
 */
export const nodeSettings = (file: NodeFileSettings, name: string | undefined): NodeSettings => {
  const given = Object.fromEntries(Object.entries(file).filter(([, value]) => value !== undefined));
  return { ...DEFAULT_NODE_SETTINGS, ...given, ...(name === undefined ? {} : { name }) };
};

/** Checks the relations between the times. */
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

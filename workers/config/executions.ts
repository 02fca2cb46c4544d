import path from 'node:path';
import { z } from 'zod';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import type { ExecutionSettings } from '../../activities/executions/settings';
import type { RegisteredFunction } from '../../handlers/functions';
import { show } from '../../handlers/text';

/**
 * `executions` of the config file: what an operator says of executions on the nodes that read it.
 * Times in milliseconds.
 */

const whole = (min: number, max: number) =>
  z.custom<number>((value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max, {
    error: (issue) => `expected a whole number from ${min} to ${max}, got ${show(issue.input)}`,
  });
const DAY_MS = 86_400_000;

export const executionShape = {
  attributes: z
    .record(z.string(), z.string(), {
      error: (issue) => `expected texts by name, such as {"zone": "eu"}, got ${show(issue.input)}`,
    })
    .optional(),
  maxAttempts: whole(1, 1_000_000).optional(),
  rollCallMs: whole(0, 600_000).optional(),
  requeueMs: whole(1_000, 30 * DAY_MS).optional(),
  startupDelayMs: whole(0, DAY_MS).optional(),
  retryBaseMs: whole(1, DAY_MS).optional(),
  leaseMs: whole(1_000, 600_000).optional(),
  concurrency: whole(1, 1_000).optional(),
  timeoutMs: whole(1, DAY_MS).optional(),
  retentionMs: whole(60_000, 3_650 * DAY_MS).optional(),
  stdoutBytes: whole(0, 16 * 1_048_576).optional(),
  stderrBytes: whole(0, 16 * 1_048_576).optional(),
  memoryBytes: whole(65_536, 4 * 1_073_741_824).optional(),
  functionStore: z
    .custom<string>((value) => typeof value === 'string' && value !== '', {
      error: (issue) => `expected a folder, relative to the config file, got ${show(issue.input)}`,
    })
    .optional(),
};

export interface ExecutionFileSettings {
  attributes?: Record<string, string> | undefined;
  maxAttempts?: number | undefined;
  rollCallMs?: number | undefined;
  requeueMs?: number | undefined;
  startupDelayMs?: number | undefined;
  retryBaseMs?: number | undefined;
  leaseMs?: number | undefined;
  concurrency?: number | undefined;
  timeoutMs?: number | undefined;
  retentionMs?: number | undefined;
  stdoutBytes?: number | undefined;
  stderrBytes?: number | undefined;
  memoryBytes?: number | undefined;
  functionStore?: string | undefined;
  /** Hosts that `http` functions may call; none without. */
  httpAllow?: readonly string[] | undefined;
}

/** The settings of a node: it answers roll calls where there is anything to run. */
export const executionSettings = (
  file: ExecutionFileSettings,
  functions: readonly RegisteredFunction[],
  folder: string,
): ExecutionSettings => {
  const { stdoutBytes, stderrBytes, functionStore, httpAllow = [], memoryBytes, ...plain } = file;
  const { limits } = DEFAULT_EXECUTION_SETTINGS;
  const given = Object.fromEntries(Object.entries(plain).filter(([, value]) => value !== undefined));
  return {
    ...DEFAULT_EXECUTION_SETTINGS,
    ...given,
    serves: functions.length > 0 || functionStore !== undefined || httpAllow.length > 0,
    functions: new Map(functions.map((one) => [one.name, one])),
    functionStore: functionStore === undefined ? null : path.resolve(folder, functionStore),
    httpAllow,
    memoryBytes: memoryBytes ?? DEFAULT_EXECUTION_SETTINGS.memoryBytes,
    limits: { stdoutBytes: stdoutBytes ?? limits.stdoutBytes, stderrBytes: stderrBytes ?? limits.stderrBytes },
  };
};

import path from 'node:path';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import type { ExecutionSettings } from '../../activities/executions/settings';
import type { RegisteredFunction } from '../../handlers/functions';
import { attributes, checked, setting, whole } from './checked';
import { DAY_MS } from '../../workflows/planning/duration';

/**
 * `executions` of the config file: an operator's settings for executions on the nodes that read it.
 * Times in milliseconds.
 */

const { limits: LIMITS, ...DEFAULTS } = DEFAULT_EXECUTION_SETTINGS;

const isTopics = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.length <= 100 &&
  value.every((one) => typeof one === 'string' && one !== '' && Buffer.byteLength(one) <= 256 && !one.includes('\0'));

export const executionShape = {
  attributes: setting(attributes, 'Attributes of the node, which requests may ask for.', 'none'),
  topics: setting(
    checked<readonly string[]>('an array of at most 100 topics, each a text of 1-256 bytes', isTopics),
    'Topics that the node subscribes to: a request with a topic asks only such nodes.',
    'none',
  ),
  maxAttempts: setting(
    whole(1, 1_000_000),
    'Most attempts per item, whatever a request asks for.',
    DEFAULTS.maxAttempts,
  ),
  maxLosses: setting(
    whole(2, 1_000),
    'How often in a row an item may be lost with its node while it runs; then it has failed for good.',
    DEFAULTS.maxLosses,
  ),
  rollCallMs: setting(
    whole(0, 600_000),
    'How long a roll call waits for as many nodes as were asked for.',
    DEFAULTS.rollCallMs,
  ),
  requeueMs: setting(
    whole(1_000, 30 * DAY_MS),
    'An execution that waits for nodes holds another roll call after this time at the latest.',
    DEFAULTS.requeueMs,
  ),
  startupDelayMs: setting(
    whole(0, DAY_MS),
    'How long after its start a worker resumes executions that no worker leads.',
    DEFAULTS.startupDelayMs,
  ),
  retryBaseMs: setting(
    whole(1, DAY_MS),
    'Pause before a retry round; doubles with each round that completed nothing.',
    DEFAULTS.retryBaseMs,
  ),
  leaseMs: setting(whole(1_000, 600_000), 'A node that is silent for this long loses its chunk.', DEFAULTS.leaseMs),
  concurrency: setting(
    whole(1, 1_000),
    'Items of a chunk that run at once, where the request does not say.',
    DEFAULTS.concurrency,
  ),
  timeoutMs: setting(whole(1, DAY_MS), 'Longest run of one item, where the request does not say.', DEFAULTS.timeoutMs),
  maxConcurrency: setting(
    whole(1, 1_000),
    'Most items of a chunk at once, whatever a request asks for; the HTTP API refuses more.',
    DEFAULTS.maxConcurrency,
  ),
  maxTimeoutMs: setting(
    whole(1, DAY_MS),
    'Longest run of one item, whatever a request asks for; the HTTP API refuses more.',
    DEFAULTS.maxTimeoutMs,
  ),
  retentionMs: setting(
    whole(60_000, 3_650 * DAY_MS),
    'How long an ended execution is kept, with its items and results.',
    DEFAULTS.retentionMs,
  ),
  stdoutBytes: setting(
    whole(0, 16 * 1_048_576),
    'Most bytes of an item’s standard output that are kept.',
    LIMITS.stdoutBytes,
  ),
  stderrBytes: setting(
    whole(0, 16 * 1_048_576),
    'Most bytes of an item’s standard error that are kept.',
    LIMITS.stderrBytes,
  ),
  memoryBytes: setting(
    whole(65_536, 4 * 1_073_741_824),
    'Most memory of a WebAssembly function.',
    DEFAULTS.memoryBytes,
  ),
  functionStore: setting(
    checked<string>('a folder, relative to the config file', (value) => typeof value === 'string' && value !== ''),
    'Folder of WebAssembly functions, by the hash of their content.',
    'none',
  ),
};

export interface ExecutionFileSettings {
  attributes?: Record<string, string> | undefined;
  topics?: readonly string[] | undefined;
  maxAttempts?: number | undefined;
  maxLosses?: number | undefined;
  rollCallMs?: number | undefined;
  requeueMs?: number | undefined;
  startupDelayMs?: number | undefined;
  retryBaseMs?: number | undefined;
  leaseMs?: number | undefined;
  concurrency?: number | undefined;
  timeoutMs?: number | undefined;
  maxConcurrency?: number | undefined;
  maxTimeoutMs?: number | undefined;
  retentionMs?: number | undefined;
  stdoutBytes?: number | undefined;
  stderrBytes?: number | undefined;
  memoryBytes?: number | undefined;
  functionStore?: string | undefined;
  /** Hosts that `http` functions may call; none without. */
  httpAllow?: readonly string[] | undefined;
}

/** Returns the settings of a node: it answers roll calls if it has anything to run. */
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

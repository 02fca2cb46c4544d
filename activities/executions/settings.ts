import { DEFAULT_MAX_ATTEMPTS, DEFAULT_MAX_LOSSES } from '../../workflows/planning/executions/attempts';
import type { ExecutorSource, OutputLimits } from './executors';

/** Retention of executions, the same as of tasks: 7 days. */
export const DEFAULT_RETENTION_MS = 604_800_000;

/** An operator's settings of executions on a node, all with defaults. */
export interface ExecutionSettings extends ExecutorSource {
  /** Whether the node answers roll calls (`batch_support`); on if it has anything to run. */
  serves: boolean;
  attributes: Readonly<Record<string, string>>;
  /** Topics that the node subscribes to. */
  topics: readonly string[];
  /** Most attempts of an item, whatever a request says. */
  maxAttempts: number;
  /** How often in a row an item may be lost with its node while it ran. */
  maxLosses: number;
  /** How long a roll call waits for as many nodes as were asked for. */
  rollCallMs: number;
  /** Longest time until executions that wait for nodes hold another roll call. */
  requeueMs: number;
  /** Time after a start of the workers when executions without a running workflow are resumed. */
  startupDelayMs: number;
  /** Pause before a retry round; doubles with each round without a result. */
  retryBaseMs: number;
  /** A node that is silent for so long has lost its chunk. */
  leaseMs: number;
  /** Items of a chunk at once, and time of one run, where the template does not say. */
  concurrency: number;
  timeoutMs: number;
  /** The most of both that this node grants a request. */
  maxConcurrency: number;
  maxTimeoutMs: number;
  /** Time after its end when an execution is deleted, with its items and results. */
  retentionMs: number;
  limits: OutputLimits;
}

export const DEFAULT_EXECUTION_SETTINGS: ExecutionSettings = {
  functions: new Map(),
  functionStore: null,
  memoryBytes: 134_217_728,
  httpAllow: [],
  serves: false,
  attributes: {},
  topics: [],
  maxAttempts: DEFAULT_MAX_ATTEMPTS,
  maxLosses: DEFAULT_MAX_LOSSES,
  rollCallMs: 5_000,
  requeueMs: 3_600_000,
  startupDelayMs: 60_000,
  retryBaseMs: 1_000,
  leaseMs: 15_000,
  concurrency: 1,
  timeoutMs: 60_000,
  maxConcurrency: 256,
  maxTimeoutMs: 3_600_000,
  retentionMs: DEFAULT_RETENTION_MS,
  limits: { stdoutBytes: 65_536, stderrBytes: 65_536 },
};

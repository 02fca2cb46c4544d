import { DEFAULT_MAX_ATTEMPTS } from '../../workflows/planning/executions/attempts';
import type { ExecutorSource, OutputLimits } from './executors';

/** Of executions as of tasks: 7 days. */
export const DEFAULT_RETENTION_MS = 604_800_000;

/** What an operator says about executions on a node, all with defaults. */
export interface ExecutionSettings extends ExecutorSource {
  /** Answers roll calls (`batch_support`): on where there is something to run. */
  serves: boolean;
  attributes: Readonly<Record<string, string>>;
  /** Attempts of an item at most, whatever a request says (E10). */
  maxAttempts: number;
  /** A roll call waits this long for as many nodes as were asked for (E3). */
  rollCallMs: number;
  /** Executions that wait for nodes hold another roll call after this at the latest (E8). */
  requeueMs: number;
  /**
   * After a start of the workers, executions that nobody leads any more are resumed after this
   * (E7).
   */
  startupDelayMs: number;
  /** Pause before a retry round; doubles with each round that brought nothing. */
  retryBaseMs: number;
  /** A node that is silent for so long has lost its chunk. */
  leaseMs: number;
  /** Items of a chunk at once, and time of one run, where the template says nothing. */
  concurrency: number;
  timeoutMs: number;
  /** An execution that is over is deleted so long after its end, with its items and results. */
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
  maxAttempts: DEFAULT_MAX_ATTEMPTS,
  rollCallMs: 5_000,
  requeueMs: 3_600_000,
  startupDelayMs: 60_000,
  retryBaseMs: 1_000,
  leaseMs: 15_000,
  concurrency: 1,
  timeoutMs: 60_000,
  retentionMs: DEFAULT_RETENTION_MS,
  limits: { stdoutBytes: 65_536, stderrBytes: 65_536 },
};

import type { FunctionCall } from '../../../handlers/functions';
import type { ItemMetadata } from '../../../workflows/planning/executions/usage';

/** The outcome of one run of an item. */
export interface RunOutcome {
  /** Null: it did not exit. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** Bytes that it wrote in all, if not all of them were kept. */
  stdoutBytes?: number;
  stderrBytes?: number;
  /** What the executor can tell of the run alone. */
  cpuMs?: number;
  memoryBytes?: number;
  metadata?: ItemMetadata;
  /**
   * The node could not run it as it should: no such function, the start failed, or a limit ended
   * it. The exit code means nothing then.
   */
  nodeError?: string;
}

/** A run, as all executors need it; a function in TypeScript has a logger besides. */
export type RunCall = Omit<FunctionCall, 'log'>;

interface Runner {
  run(args: readonly string[], call: RunCall): Promise<RunOutcome>;
}

/** Room for one run, until it is left. */
export interface Place extends Runner {
  leave(): void;
}

/** Runs the items of one chunk: created when the chunk begins, closed when it ends. */
export interface Executor extends Runner {
  /** It runs code of users: an item may take its node down. */
  runsCode: boolean;
  /** Waits for room, which counts as no time of the run. Without it there always is. */
  place?(signal: AbortSignal): Promise<Place>;
  close(): Promise<void>;
}

export interface OutputLimits {
  /** Longer output is cut there, with a note. Default 65,536 bytes each. */
  stdoutBytes: number;
  stderrBytes: number;
}

export interface MakeExecutor {
  functionId: string;
  method: string;
  concurrency: number;
  limits: OutputLimits;
}

/** Returns a failure of the node: the item failed, whatever its exit code says. */
export const nodeFailure = (message: string, stdout = '', stderr = ''): RunOutcome => ({
  exitCode: null,
  stdout,
  stderr: stderr === '' ? message : `${stderr}\n${message}`,
  nodeError: message,
});

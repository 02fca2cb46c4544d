import type { FunctionCall } from '../../../handlers/functions';

/** What came of one run of an item (E6). */
export interface RunOutcome {
  /** Null: it did not come to an exit. */
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** Bytes that it wrote in all, where not all of them were kept. */
  stdoutBytes?: number;
  stderrBytes?: number;
  /**
   * The node could not run it as it should: no such function, the start failed, a limit ended it.
   * The exit code says nothing then.
   */
  nodeError?: string;
}

/** Runs the items of one chunk: made when the chunk begins, closed when it ends. */
export interface Executor {
  run(args: readonly string[], call: FunctionCall): Promise<RunOutcome>;
  close(): Promise<void>;
}

export interface OutputLimits {
  /** Longer output is cut there and says so. Default 65,536 bytes each. */
  stdoutBytes: number;
  stderrBytes: number;
}

export interface MakeExecutor {
  functionId: string;
  method: string;
  concurrency: number;
  limits: OutputLimits;
}

/** A node-level error: FAILED whatever else is said (E6). */
export const nodeFailure = (message: string, stdout = '', stderr = ''): RunOutcome => ({
  exitCode: null,
  stdout,
  stderr: stderr === '' ? message : `${stderr}\n${message}`,
  nodeError: message,
});

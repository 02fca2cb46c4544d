/** A registered function: TypeScript that a node runs for one argument list of an execution. */

export interface FunctionCall {
  /** The template's method: a function may do several things. */
  method: string;
  /** The template's variables. */
  env: Readonly<Record<string, string>>;
  /**
   * Place of the argument list in the execution, from 0, and its id: an idempotency key for the
   * function's effects outside.
   */
  position: number;
  executionId: string;
  /** Aborted on timeout or when the process stops: pass it to every call. */
  signal: AbortSignal;
}

/**
 * A string is the standard output of a successful run; nothing is an empty one. A throw is exit
 * code 1 with the error on stderr.
 */
export type FunctionAnswer = string | void | { stdout?: string; stderr?: string; exitCode?: number };

export interface FunctionOptions {
  /** The `functionId` of templates: 1-128 characters of a-z, A-Z, 0-9, _, -, . and /. */
  name: string;
  run(args: readonly string[], call: FunctionCall): FunctionAnswer | Promise<FunctionAnswer>;
}

export interface RegisteredFunction extends FunctionOptions {
  readonly kind: 'muster-function';
}

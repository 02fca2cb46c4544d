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
 * code 1 with the error on stderr. `metadata`: kept with the result, at most 32 texts by name and
 * 4,096 bytes as JSON.
 */
export type FunctionAnswer =
  string | void | { stdout?: string; stderr?: string; exitCode?: number; metadata?: Readonly<Record<string, string>> };

/** A function as a user writes it. */
export interface FunctionOptions {
  /** The `functionId` of templates: 1-128 characters of a-z, A-Z, 0-9, _, -, . and /. */
  name: string;
  /** Runs for one argument list: at most 10,000 texts. May block the process of its node. */
  run(args: readonly string[], call: FunctionCall): FunctionAnswer | Promise<FunctionAnswer>;
}

/** A checked function, for `functions` of the config file. */
export interface RegisteredFunction extends FunctionOptions {
  /** Marks what `defineFunction` made. */
  readonly kind: 'muster-function';
}

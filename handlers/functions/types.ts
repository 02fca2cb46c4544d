import type { CallLog } from '../contract';

/** Registered functions, which a node runs once per argument list of an execution. */

/** What a function receives besides its argument list. */
export interface FunctionCall {
  /** The method of the execution's template, since a function may do several things. */
  method: string;
  /** The environment variables of the template. */
  env: Readonly<Record<string, string>>;
  /**
   * Place of the argument list in the execution, from 0. Together with the execution's id it is an
   * idempotency key for the function's external effects.
   */
  position: number;
  executionId: string;
  /** Aborted on timeout, or when the process stops. Pass it to every call. */
  signal: AbortSignal;
  /** Writes to the node's log. Each line has `function`, `method`, `execution` and `position`. */
  log: CallLog;
}

/**
 * The result of a run. A string is the standard output of a successful run, and nothing is an empty
 * output. An error that is thrown is exit code 1, with the error on stderr. `metadata` is kept with
 * the result: at most 32 texts by name, 4,096 bytes as JSON.
 */
export type FunctionAnswer =
  string | void | { stdout?: string; stderr?: string; exitCode?: number; metadata?: Readonly<Record<string, string>> };

/** A function as a user writes it. */
export interface FunctionOptions {
  /** The `functionId` of templates: 1-128 characters of a-z, A-Z, 0-9, _, -, . and /. */
  name: string;
  /**
   * Runs the function for one argument list of at most 10,000 texts. It may block the process of
   * its node.
   */
  run(args: readonly string[], call: FunctionCall): FunctionAnswer | Promise<FunctionAnswer>;
}

/** A checked function, for `functions` of the config file. */
export interface RegisteredFunction extends FunctionOptions {
  /** Marks functions that were made by `defineFunction`. */
  readonly kind: 'muster-function';
}

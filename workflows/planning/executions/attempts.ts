/** The operator's limit of attempts per item, if the config file has none. */
export const DEFAULT_MAX_ATTEMPTS = 10;

/** How one run of an item ended. */
export interface Ran {
  /** Null: the function did not exit. */
  exitCode: number | null;
  /**
   * The node could not run the item properly: the function is missing, its start failed, or a limit
   * ended it. The exit code is then meaningless.
   */
  nodeError: boolean;
}

export const succeeded = ({ exitCode, nodeError }: Ran): boolean => exitCode === 0 && !nodeError;

/** The operator's limit, where no setting gives one. */
export const DEFAULT_MAX_ATTEMPTS = 10;

/** The outcome of one run of an item. */
export interface Ran {
  /** Null: it did not exit. */
  exitCode: number | null;
  /**
   * It could not be run as it should: the function is missing, the start failed, or a limit ended
   * it. The exit code means nothing then.
   */
  nodeError: boolean;
}

export const succeeded = ({ exitCode, nodeError }: Ran): boolean => exitCode === 0 && !nodeError;

/** Of the operator, where no setting says otherwise (E10). */
export const DEFAULT_MAX_ATTEMPTS = 10;

/** What came of one run of an item. */
export interface Ran {
  /** Null: it did not come to an exit. */
  exitCode: number | null;
  /**
   * It could not be run as it should: the function is missing, the start failed, a limit ended it.
   * Then the exit code says nothing (E6).
   */
  nodeError: boolean;
}

export const succeeded = ({ exitCode, nodeError }: Ran): boolean => exitCode === 0 && !nodeError;

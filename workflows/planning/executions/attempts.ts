import { ITEM } from './states';

/** Of the operator, where no setting says otherwise (E10). */
export const DEFAULT_MAX_ATTEMPTS = 10;

/**
 * The lower of what was asked for and the operator's; asked for nothing, or 0: the operator's
 * (E10).
 */
export const attemptsLimit = (asked: number | null | undefined, operator: number = DEFAULT_MAX_ATTEMPTS): number =>
  asked == null || asked <= 0 ? operator : Math.min(asked, operator);

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

/**
 * The state after a run that was the `attempts`-th; the store computes the same in the write
 * (postgres/executions/workItem.ts).
 */
export const stateAfter = (ran: Ran, attempts: number, limit: number): number =>
  succeeded(ran) ? ITEM.done : attempts >= limit ? ITEM.permanentlyFailed : ITEM.failed;

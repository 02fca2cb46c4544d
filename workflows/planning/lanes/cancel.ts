import type { LaneBatchStatus } from './statuses';

/** What a cancellation knows about a lane batch, read under the locks under which it decides. */
export interface CancelFacts {
  status: LaneBatchStatus;
  /** A call of the batch is marked and not concluded. */
  calling: boolean;
  /** An earlier call of the batch may have been applied. */
  unsure: boolean;
}

/**
 * Returns why a lane batch cannot be cancelled. Null: it can, since the downstream does not have
 * it: it was never sent, or certainly not applied (refused for now, or refused alone). Any other
 * batch ends in another way: by an answer, a look-up, or an operator.
 */
export const whyNotCancelled = ({ status, calling, unsure }: CancelFacts): string | null => {
  switch (status) {
    case 'unsubmitted':
    case 'delayed':
    case 'refused':
      return calling || unsure ? UNSURE : null;
    case 'submitted':
      // A granted batch is not sent yet: until its call is marked, the downstream cannot have it.
      return calling ? 'a call with it is in flight; wait for the answer' : unsure ? UNSURE : null;
    case 'pending':
    case 'valid':
      return 'the downstream accepted it; wait for its outcome';
    case 'unknown':
      return 'it may have been applied; it will be looked up or sent again with the same key';
    case 'parked':
      return 'it may have been applied, and its lane is halted: `lane skip` or `lane fix` it';
    case 'committed':
      return 'it was applied';
    case 'invalid':
      return 'the downstream refused it permanently';
    case 'skipped':
      return 'an operator continued its lane without it';
    case 'failed-dependency':
      return 'it failed without being sent: a batch on which it depends was not applied';
    case 'cancelled':
      return 'it is cancelled already';
  }
};
const UNSURE = 'an earlier call of it may have been applied; it is sent again with the same key';

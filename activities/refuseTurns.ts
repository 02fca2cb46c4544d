import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { WORKER_STOPPING } from '../workflows/messages';
import type { ActivityDeps } from './deps';

/**
 * Makes an activity that takes turns fail at once while this process is stopping, so that the
 * workflow task ends, and another worker takes the turn.
 */
export const refusedWhileStopping =
  <I, A>(deps: Pick<ActivityDeps, 'draining'>, takeTurn: (input: I) => Promise<A>) =>
  (input: I): Promise<A> => {
    if (!deps.draining.aborted) return takeTurn(input);
    return Promise.reject(
      ApplicationFailure.create({
        type: WORKER_STOPPING,
        message: 'Cannot take a turn: this worker is stopping. Another worker takes it.',
        nonRetryable: true,
        category: ApplicationFailureCategory.BENIGN,
      }),
    );
  };

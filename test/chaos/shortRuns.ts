import type { ClientInterceptors } from '@temporalio/client';

/** Leaders and queuers continue as new after so few turns that it happens all the time. */
const TURNS_PER_RUN = 3;
/**
 * Under load a run seldom has nothing in flight: from so many events on it is made to continue as
 * new.
 */
const MOST_EVENTS = 60;

/** Starts them with low limits of a run, whoever wakes them. */
export const shortRuns: ClientInterceptors = {
  workflow: [
    {
      signalWithStart: (input, next) => {
        if (!['leader', 'queuer'].includes(input.workflowType)) return next(input);
        const args = [{ ...(input.options.args[0] as object), turnsPerRun: TURNS_PER_RUN, mostEvents: MOST_EVENTS }];
        return next({ ...input, options: { ...input.options, args } });
      },
    },
  ],
};

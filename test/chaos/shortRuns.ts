import type { ClientInterceptors } from '@temporalio/client';

/** Leaders continue as new after so few turns that it happens all the time. */
const TURNS_PER_RUN = 3;

/** Starts leaders with a low `turnsPerRun`, whoever wakes them. */
export const shortRuns: ClientInterceptors = {
  workflow: [
    {
      signalWithStart: (input, next) => {
        if (input.workflowType !== 'leader') return next(input);
        const args = [{ ...(input.options.args[0] as object), turnsPerRun: TURNS_PER_RUN }];
        return next({ ...input, options: { ...input.options, args } });
      },
    },
  ],
};

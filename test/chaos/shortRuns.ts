import type { ClientInterceptors } from '@temporalio/client';

/** Leaders and queuers continue as new after so few turns that it happens all the time. */
const TURNS_PER_RUN = 3;

/** Starts them with a low `turnsPerRun`, whoever wakes them. */
export const shortRuns: ClientInterceptors = {
  workflow: [
    {
      signalWithStart: (input, next) => {
        if (!['leader', 'queuer'].includes(input.workflowType)) return next(input);
        const args = [{ ...(input.options.args[0] as object), turnsPerRun: TURNS_PER_RUN }];
        return next({ ...input, options: { ...input.options, args } });
      },
    },
  ],
};

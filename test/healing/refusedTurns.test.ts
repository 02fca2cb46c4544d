import type { Activities, ActivityDeps } from '../../activities';
import { createActivities } from '../../activities';
import { HandlerCounts } from '../../workflows/temporal/handlerCounts';
import { WORKER_STOPPING } from '../../workflows/messages';

/** A stopping worker takes no turn of any kind of run; stopping.test.ts shows what that is for. */

const turns = ['claimBatches', 'grantLanes', 'balancePartitions'] as const satisfies readonly (keyof Activities)[];

const depsOf = (draining: AbortSignal): ActivityDeps =>
  ({ draining, runs: new HandlerCounts(), handlers: new Map() }) as unknown as ActivityDeps;

test.each(turns)('a worker that is stopping takes no turn: %s is refused before it reads its input', async (name) => {
  const activities = createActivities(depsOf(AbortSignal.abort()));
  await expect(activities[name]({} as never)).rejects.toMatchObject({ type: WORKER_STOPPING, nonRetryable: true });
});

test.each(turns)('a worker that is not stopping does not refuse a turn: %s', async (name) => {
  const activities = createActivities(depsOf(new AbortController().signal));
  const answer = await activities[name]({} as never).catch((error: unknown) => error);
  expect(answer).not.toMatchObject({ type: WORKER_STOPPING });
});

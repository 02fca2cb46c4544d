import pino from 'pino';
import type { ActivityDeps } from '../../activities';
import { createActivities } from '../../activities';
import type { Seen } from '../../workflows/messages';
import { HandlerCounts } from '../../workflows/temporal/handlerCounts';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';

/** Each kind of turn answers with what its run had seen; stoppedTurn.test.ts shows what for. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const seen: Seen = { looks: 3, ended: 2 };
const run = { runId: 'run', runStartedAtMs: 0, turn: 1 };

const activities = () =>
  createActivities({
    ...{ draining: new AbortController().signal, runs: new HandlerCounts(), handlers: new Map(), pool: database.pool },
    ...{ log: pino({ enabled: false }), nodes: { leaseMs: 5_000 }, leaseMs: 10_000 },
    executions: { maxAttempts: 1, maxLosses: 1 },
  } as unknown as ActivityDeps);

test.each<[string, (took: ReturnType<typeof activities>) => Promise<{ seen?: Seen }>]>([
  ['leader', (took) => took.claimBatches({ ...run, leaderId: 999, live: [], mayClaim: true, seen })],
  ['queuer', (took) => took.grantLanes({ ...run, queuerId: 999, live: [], mayClaim: true, seen })],
  ['balancer', (took) => took.balancePartitions({ ...run, seen })],
  [
    'execution',
    (took) =>
      took.rollCall({
        ...{ ...run, batch: true, executionId: '00000000-0000-0000-0000-000000000000', running: [], undelivered: [] },
        ...{ rollCallOver: false, mayPlan: true, seen },
      }),
  ],
])('a turn of a %s', async (_kind, take) => {
  expect((await take(activities())).seen).toEqual(seen);
});

test('a turn of an older version says nothing', async () => {
  const answer = await activities().claimBatches({ ...run, leaderId: 999, live: [], mayClaim: true });
  expect(answer).not.toHaveProperty('seen');
});

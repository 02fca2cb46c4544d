import { randomUUID } from 'node:crypto';
import type { Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import pino from 'pino';
import { StuckRuns } from '../../../workers/sweeper/stuckRuns';
import { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { connectTo, createDatabase, temporalAddress } from '../../helpers/database';

/** A run that has been silent for as long as it may, and whose activities no worker has. */

let database: TestDatabase;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  database = await createDatabase({ max: 5 });
  connection = await connectTo({ address: temporalAddress() });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const SCHEDULE_ACTIVITY = 1;
const LONG = msToTs(600_000);
const IDENTITY = 'by hand';
/** A server refuses a poll without a deadline. */
const polling = <T>(poll: () => Promise<T>): Promise<T> => connection.withDeadline(Date.now() + 20_000, poll);

interface Begun {
  workflowId: string;
  runId: string;
  /** Takes one of its activities up. */
  take: () => Promise<Uint8Array>;
}

/** Begins a run that waits for so many activities, which are tried again ten minutes later. */
const begin = async (activities: number): Promise<Begun> => {
  const { workflow, workflowService } = client;
  const queue = `untaken-${randomUUID()}`;
  const workflowId = `${queue}/run`;
  const { firstExecutionRunId: runId } = await workflow.start('monitor', { taskQueue: queue, workflowId });
  const taskQueue = { name: queue };
  const asked = { namespace: 'default', taskQueue, identity: IDENTITY };
  const { taskToken } = await polling(() => workflowService.pollWorkflowTaskQueue(asked));
  const commands = Array.from({ length: activities }, (_, i) => ({
    commandType: SCHEDULE_ACTIVITY,
    scheduleActivityTaskCommandAttributes: {
      ...{ activityId: String(i), activityType: { name: 'poll' }, taskQueue, startToCloseTimeout: LONG },
      retryPolicy: { initialInterval: LONG, maximumInterval: LONG, backoffCoefficient: 1 },
    },
  }));
  await workflowService.respondWorkflowTaskCompleted({ namespace: 'default', taskToken, commands });
  const take = async (): Promise<Uint8Array> =>
    (await polling(() => workflowService.pollActivityTaskQueue(asked))).taskToken;
  return { workflowId, runId, take };
};

const fail = (taskToken: Uint8Array): Promise<unknown> =>
  client.workflowService.respondActivityTaskFailed({
    ...{ namespace: 'default', taskToken, identity: IDENTITY },
    failure: { message: 'away', applicationFailureInfo: { type: 'Away', nonRetryable: false } },
  });

/** Looks once, as the sweeper does; returns whether the run was begun anew. */
const looked = async ({ workflowId, runId }: Begun): Promise<boolean> => {
  const { pool } = database;
  const log = pino({ enabled: false });
  const requests = new Requests(client);
  const stuck = new StuckRuns({ pool, requests, prefix: 'untaken', node: 'sweeper', log, stuck: { silentMs: 0 } });
  let woken = 0;
  const wake = () => Promise.resolve(woken++);
  const counts = { stuckRuns: 0 };
  await stuck.look([{ type: 'monitor', workflowId, silentMs: 60_000, takesTurns: false, wake }], counts);
  const { status } = await client.workflow.getHandle(workflowId, runId).describe();
  expect([counts.stuckRuns, woken, status.name]).toEqual(woken > 0 ? [1, 1, 'TERMINATED'] : [0, 0, 'RUNNING']);
  return woken > 0;
};

test.each<[string, number, (run: Begun) => Promise<unknown>, boolean]>([
  ['has ever taken up one of them', 2, async () => undefined, true],
  ['has taken up all of them, but one', 2, ({ take }) => take(), false],
  ['has any more, since its try failed and the next one is not due', 1, async ({ take }) => fail(await take()), false],
])('where no worker %s, of %i: is it begun anew?', async (_what, activities, act, expected) => {
  const run = await begin(activities);
  await act(run);
  const isBegunAnew = await looked(run);
  if (!isBegunAnew) await client.workflow.getHandle(run.workflowId, run.runId).terminate();
  expect(isBegunAnew).toBe(expected);
});

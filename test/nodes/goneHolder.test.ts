import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import { defineHandler } from '../../handlers';
import { touchNode } from '../../postgres/nodes/node';
import { nodeTaskQueue, queuerWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { Downstream, items } from '../lanes/downstream';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';
import type { HistoryEvent } from '../workflows/histories';

/**
 * A submission that waits in the queue of a node whose worker has stopped: it is not begun there in
 * time, and goes to the next holder (nodes.md, How).
 *
 * @slow
 */

const LEASE_MS = 5_000;
/** What is left of the other node's lease has passed when the wait in its queue is over. */
const RENEWED_MS = 4_000;
const GONE = 'gone';
/** By its number, as in the history: the type is an enum of a package that only declares it. */
const TIMEOUT_TYPE_SCHEDULE_TO_START = 2;
const sent: string[] = [];
const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 10 },
  linger: { lingerMs: 10 },
  affinity: { partitions: 1 },
  submit: ({ tasks }) => {
    sent.push(...tasks.map(({ id }) => id));
    return Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});
const downstream = new Downstream();
const edits = downstream.handler({ affinity: { partitions: 1 } });

let own: OwnMuster;
beforeEach(async () => {
  own = await openOwn([orders, edits]);
});
afterEach(() => own.stop());

const heldBy = (node: string, condition: string): Promise<unknown> =>
  eventually(async () => {
    const { rows } = await own.database.pool.query<{ n: number }>(
      `select count(*)::int as n from lease where resource like 'partition/%' and ${condition} and expires_at > clock()`,
      [node],
    );
    return rows[0]!.n === 2;
  });
/** As the heartbeat thread of the node does whose worker has stopped. */
const renewGone = async (): Promise<void> => {
  const { pool } = own.database;
  const names = ['orders', 'edits'];
  await touchNode(pool, { id: GONE, taskQueue: 'none', handlers: names, version: '1', draining: false });
  await pool.query(
    `update lease set expires_at = clock() + $2 * interval '1 ms' where resource like 'partition/%' and holder = $1`,
    [GONE, RENEWED_MS],
  );
};
/** A node is at work, and another one has both partitions. */
const takenByGone = async (): Promise<void> => {
  await own.startNode({ nodes: { ...DEFAULT_NODE_SETTINGS, leaseMs: LEASE_MS, shutdownLimitMs: 2_500 } });
  await heldBy(GONE, 'holder <> $1');
  await own.database.pool.query(
    `update lease set holder = $1, epoch = epoch + 1, acquired_at = clock() where resource like 'partition/%'`,
    [GONE],
  );
  await renewGone();
};
/** Queues of nodes in which submissions were, and which of these were given up unbegun. */
const queuesOf = (events: readonly HistoryEvent[]): { scheduled: string[]; unbegun: number } => ({
  scheduled: events.flatMap(({ activityTaskScheduledEventAttributes: one }) =>
    one?.activityType?.name === 'submitBatches' ? [one.taskQueue!.name!] : [],
  ),
  unbegun: events.filter(
    ({ activityTaskTimedOutEventAttributes: one }) =>
      one?.failure?.timeoutFailureInfo?.timeoutType === TIMEOUT_TYPE_SCHEDULE_TO_START,
  ).length,
});
const goneQueue = (): string => nodeTaskQueue(workflowTaskQueue(own.prefix), GONE);

/** The process lives until a submission is in its queue. */
const fallsOver = async (historyOf: () => Promise<readonly HistoryEvent[]>): Promise<void> => {
  await eventually(async () => {
    await renewGone();
    return queuesOf(await historyOf()).scheduled.length > 0;
  });
  const after = await eventually(async () => {
    const { scheduled, unbegun } = queuesOf(await historyOf());
    return scheduled.at(-1) !== goneQueue() && { scheduled, unbegun };
  });
  expect(after.scheduled[0]).toBe(goneQueue());
  expect(after.unbegun).toBe(after.scheduled.length - 1);
};

test('grouped: given up when a lease has passed, then sent once by the next holder', async () => {
  await takenByGone();
  await own.client.submit('orders', { id: 'grouped', payload: { shop: 'a' } });
  await fallsOver(() => own.historyOf('orders'));
  expect(await own.client.waitFor('grouped', { timeoutMs: 60_000 })).toMatchObject([{ state: 'succeeded' }]);
  expect(sent).toEqual(['grouped']);
  await expectWhole(own.client);
});

test('in a lane: given up when a lease has passed, then sent once by the next holder', async () => {
  await takenByGone();
  const [one] = items('shop');
  await own.client.submitBatch('edits', 'shop', [one!]);
  const handle = (await own.client.temporal()).workflow.getHandle(queuerWorkflowId(own.prefix, 0));
  const started = (): Promise<readonly HistoryEvent[]> =>
    handle.fetchHistory().then(
      ({ events }) => events ?? [],
      () => [],
    );
  await fallsOver(started);
  expect(await own.client.waitFor(one!.id, { timeoutMs: 60_000 })).toMatchObject([{ state: 'succeeded' }]);
  expect(downstream.seen.map(({ ids }) => ids)).toEqual([[one!.id]]);
  await expectWhole(own.client);
});

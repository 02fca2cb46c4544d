import pino from 'pino';
import { Heartbeat } from '../../../activities/nodes/heartbeat';
import type { SeenPartition } from '../../../activities/nodes/heartbeat';
import { defineHandler } from '../../../handlers';
import { registerHandler } from '../../../postgres/grouping/handler';
import { touchNode } from '../../../postgres/nodes/node';
import { assignPartitions, partitionResource } from '../../../postgres/nodes/partition';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** What the heartbeat thread of a process reports to its main thread about partitions. */

const LEASE_MS = 60_000;
const [FIRST, SECOND] = [partitionResource('orders', 0), partitionResource('orders', 1)];
const rowOf = (id: string) => ({ id, taskQueue: 'q', handlers: ['orders'], version: '1', draining: false });

let database: TestDatabase;
let heartbeat: Heartbeat;
beforeEach(async () => {
  database = await createDatabase();
  heartbeat = new Heartbeat({ pool: database.pool, log: pino({ level: 'silent' }) });
  const orders = defineHandler<{ shop: string }>({
    name: 'orders',
    target: ({ shop }) => shop,
    limits: { maxItems: 1 },
    affinity: { partitions: 2 },
    submit: () => Promise.reject(new Error('nobody calls')),
  });
  await registerHandler(database.pool, orders);
});
afterEach(async () => {
  await heartbeat.stop();
  await database.drop();
});

const silence = (id: string): Promise<unknown> =>
  database.pool.query({ text: `update node set seen_at = clock() - interval '1 hour' where id = $1`, values: [id] });
interface Heard {
  held: string[];
  times: number;
  silent: number;
  back: number;
}
/** Begins the signs of life of node `a`. */
const begin = (): Heard => {
  const heard: Heard = { held: [], times: 0, silent: 0, back: 0 };
  heartbeat.beat(rowOf('a'), 100, 60_000);
  heartbeat.partitions(
    { leaseMs: LEASE_MS, maxLeaseMs: 600_000 },
    {
      held: (seen: readonly SeenPartition[]) => {
        heard.held = seen.map(({ id }) => id);
        heard.times++;
      },
      silentNode: () => void heard.silent++,
      back: () => void heard.back++,
    },
  );
  return heard;
};

test('it reports the partitions that its node holds, and none of another one that lives', async () => {
  for (const [partition, node] of [[FIRST, 'a'] as const, [SECOND, 'b'] as const]) {
    await touchNode(database.pool, rowOf(node));
    await assignPartitions(database.pool, [{ partition, epoch: 0, node, reason: 'test' }], LEASE_MS);
  }
  const heard = begin();
  await eventually(() => heard.times > 0);
  expect(heard).toMatchObject({ held: [FIRST], silent: 0 });
});

test('it reports that a node which holds partitions has been silent for a lease', async () => {
  await touchNode(database.pool, rowOf('b'));
  await assignPartitions(database.pool, [{ partition: FIRST, epoch: 0, node: 'b', reason: 'test' }], LEASE_MS);
  await silence('b');
  const heard = begin();
  await eventually(() => heard.silent > 0, { timeoutMs: 30_000, what: 'the report of a silent node' });
});

test('it reports that its own node was silent for a lease, and is back', async () => {
  await touchNode(database.pool, rowOf('a'));
  const heard = begin();
  await eventually(
    async () => {
      await silence('a');
      return heard.back > 0;
    },
    { timeoutMs: 30_000, what: 'the report that it is back' },
  );
});

import { lookAtLanes } from '../../../activities/lanes/look';
import { lockQueuer } from '../../../postgres/lanes/queuerLock';
import { inTransaction } from '../../../postgres/pool';
import { Downstream, items } from '../downstream';
import type { LaneStore } from '../laneStore';
import { openLaneStore } from '../laneStore';

/** Strategy `single` with more lanes than one grant looks at. */

let shop: LaneStore;
beforeAll(async () => {
  shop = await openLaneStore([new Downstream().handler({ lane: { approach: 'unconstrained' } })]);
  await shop.pretendWorker(['edits']);
  await shop.client.setQueuer({ slots: 1, strategy: 'single' });
});
afterAll(() => shop.stop());

const submit = async (service: string): Promise<number> =>
  (await shop.client.submitBatch('edits', service, items(service))).batch;
const planned = (): Promise<number[]> =>
  inTransaction(shop.database.pool, async (client) => {
    const look = await lookAtLanes(client, 0, (await lockQueuer(client, 0))!, 1);
    return look.plan.grants.map(({ batchId }) => batchId);
  });

test('what was submitted first goes first, also of a lane behind many with older batches in flight [C21]', async () => {
  const many = Array.from({ length: 12 }, (_, i) => `lane-${i}`);
  const heads: number[] = [];
  for (const service of many) heads.push(await submit(service));
  await shop.database.pool.query('update lane_batch set status = 4 where batch_id = any($1)', [heads]);
  await shop.database.pool.query('update lane_state set pending = 1');
  const first = await submit('behind');
  for (const service of many) await submit(service);
  expect(await planned()).toEqual([first]);
});

test('a task counts by its own place, before it is in a batch [C21]', async () => {
  const { pool } = shop.database;
  await pool.query('update lane_state set paused_at = clock()');
  // A target is bound to its lane by its first batch.
  await submit('queued');
  await pool.query(`update lane_batch set status = 10 where lane_id = (select id from lane where service = 'queued')`);
  const [task] = items('queued');
  await shop.client.submit('edits', task!);
  for (let i = 0; i < 12; i++) await submit(`late-${i}`);
  const [first] = await planned();
  expect(
    await pool.query('select k.id from batch b join task k on k.seq = b.members[1] where b.id = $1', [first]),
  ).toMatchObject({
    rows: [{ id: task!.id }],
  });
});

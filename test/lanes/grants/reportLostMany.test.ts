import { settleLanesSucceeded } from '../../../postgres/lanes/settleMany';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import { Downstream, items } from '../downstream';
import type { LaneStore } from '../laneStore';
import { openLaneStore } from '../laneStore';

/** A notice of lost batches that takes more than one transaction, and what happens meanwhile. */

const MANY = 1_205;
let shop: LaneStore;
beforeAll(async () => {
  shop = await openLaneStore([new Downstream().handler({ lane: { kind: 'guaranteed' } })]);
});
afterAll(() => shop.stop());

/** Submits batches of one lane, and lets the downstream have accepted all of them. */
const accepted = async (service: string): Promise<number[]> => {
  const batches = Array.from({ length: MANY }, () => ({ service, items: items(service) }));
  const submitted = [
    ...(await shop.client.submitBatches('edits', batches.slice(0, 1_000))),
    ...(await shop.client.submitBatches('edits', batches.slice(1_000))),
  ].map(({ batch }) => batch);
  const { pool } = shop.database;
  await pool.query(
    `update batch set attempt = 1, started_at = clock(), called_at = clock(), reference = 'ref-' || id,
       poll_at = clock() + interval '1 hour', poll_until = clock() + interval '2 hours' where id = any($1)`,
    [submitted],
  );
  await pool.query('update lane_batch set status = 4, changed_at = clock() where batch_id = any($1)', [submitted]);
  await pool.query(
    'update lane_state set pending = $2, ready = false where lane_id = (select id from lane where service = $1)',
    [service, MANY],
  );
  return submitted;
};
const statusesIn = async (service: string) => {
  const { rows } = await shop.database.pool.query<{ status: number; n: number }>(
    `select s.status, count(*)::int as n from lane_batch s join lane l on l.id = s.lane_id
     where l.service = $1 group by 1 order by 1`,
    [service],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
};
const stateOf = async (service: string) => {
  const { rows } = await shop.database.pool.query(
    'select s.pending, s.ready from lane_state s join lane l on l.id = s.lane_id where l.service = $1',
    [service],
  );
  return rows[0] as { pending: number; ready: boolean };
};

test('more than one transaction of batches is told as lost: all behind the named one, each once [C17]', async () => {
  const batches = await accepted('many');
  const answer = await shop.client.lanes.reportLost('many', { afterBatch: batches[1]!, reason: 'fork' });
  expect(answer).toMatchObject({ batches: MANY - 2, first: batches[2], last: batches.at(-1) });
  expect(await statusesIn('many')).toEqual({ 2: MANY - 2, 4: 2 });
  expect(await stateOf('many')).toEqual({ pending: 2, ready: true });
  const { acceptedBefore } = answer;
  expect((await shop.client.lanes.reportLost('many', { afterBatch: batches[1]!, acceptedBefore })).batches).toBe(0);
  await expectWhole(shop.client);
}, 240_000);

test('a batch that is committed while the notice is written stays so, and is counted once', async () => {
  const batches = await accepted('meanwhile');
  const committed = batches[500]!;
  const other = await shop.database.pool.connect();
  try {
    await other.query('begin');
    expect(await settleLanesSucceeded(other as never, [{ id: committed, attempt: 1 }], [], [])).toHaveLength(1);
    const told = shop.client.lanes.reportLost('meanwhile');
    // It has read that the batch is accepted, and waits for the transaction that commits it.
    await eventually(async () => {
      const { rows } = await shop.database.pool.query<{ n: number }>(
        `select count(*)::int as n from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query like '%locked as materialized%'`,
      );
      return rows[0]!.n > 0;
    });
    await other.query('commit');
    expect(await told).toMatchObject({ batches: MANY - 1, first: batches[0], last: batches.at(-1) });
  } finally {
    other.release();
  }
  expect(await statusesIn('meanwhile')).toEqual({ 2: MANY - 1, 10: 1 });
  expect(await stateOf('meanwhile')).toEqual({ pending: 0, ready: true });
  await expectWhole(shop.client);
}, 240_000);

import { ackItems } from '../../client/fanouts/ackItems';
import { createPool } from '../../postgres/pool';
import { expireFanouts, reapRound } from '../../postgres/fanouts/reap';
import { deleteUnusedRecipients } from '../../postgres/sweeper/expired';
import { endNotification } from '../../postgres/callbacks/notification';
import { DEFAULT_REAP, FanoutReaper } from '../../workers/sweeper/fanoutReaper';
import { anotherNode } from '../helpers/anotherNode';
import { letSessionsMoveClock } from '../helpers/clock';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';
import type { FanoutShop } from './shop';
import { openFanoutShop } from './shop';

/**
 * D14: two intervals, by activity, an explicit state with its event first, counts, never with live
 * work.
 */

let shop: FanoutShop;
beforeEach(async () => {
  shop = await openFanoutShop();
  await letSessionsMoveClock(shop.pool);
});
afterEach(async () => {
  await expectWhole(shop.client);
  await shop.stop();
});

const filled = async (sealed: boolean, options = {}): Promise<{ id: string; ids: string[] }> => {
  const { id } = await shop.client.openFanout(options);
  const ids = [...(await shop.client.addItems(id, 10))];
  if (sealed) await shop.client.sealFanout(id);
  return { id, ids };
};
const stateOf = async (id: string): Promise<string | undefined> => (await shop.client.getFanout(id))?.state;
const segments = async (): Promise<number> =>
  (await shop.pool.query<{ n: number }>('select count(*)::int as n from segment')).rows[0]!.n;

test('open and sealed, 10 items each; reap open since now: open gone with its items, sealed intact [D14]', async () => {
  const open = await filled(false);
  const sealed = await filled(true);
  const counts = await shop.client.reapFanouts({ openIdleMs: 0, keepEndedMs: 0 });
  expect(counts).toEqual({
    expiredOpen: 1,
    expiredSealed: 0,
    items: 10,
    told: 0,
    deletedSegments: 1,
    deletedFanouts: 1,
  });
  expect([await stateOf(open.id), await stateOf(sealed.id), await segments()]).toEqual([undefined, 'sealed', 1]);
  await expect(shop.client.ackItems(open.ids[0]!)).rejects.toMatchObject({ problems: [{ code: 'UNKNOWN_FANOUT' }] });
  // And the other way round.
  expect(await shop.client.reapFanouts({ sealedIdleMs: 0 })).toMatchObject({
    expiredOpen: 0,
    expiredSealed: 1,
    deletedFanouts: 0,
  });
  expect(await stateOf(sealed.id)).toBe('expired');
  await expect(shop.client.ackItems(sealed.ids)).rejects.toMatchObject({
    problems: expect.arrayContaining([expect.objectContaining({ code: 'FANOUT_EXPIRED' })]),
  });
  await expect(shop.client.addItems(sealed.id, 1)).rejects.toMatchObject({ code: 'FANOUT_EXPIRED' });
  await expect(shop.client.sealFanout(sealed.id)).rejects.toMatchObject({ code: 'FANOUT_EXPIRED' });
  await expect(shop.client.waitForFanout(sealed.id)).rejects.toMatchObject({ code: 'FANOUT_EXPIRED' });
});

test('an unfinished one is deleted only after its event is delivered; its recipient stays as long [D14]', async () => {
  const { id } = await filled(false, { userKey: 'told', notify: { url: 'https://hooks.example.com/x' } });
  expect(await shop.client.reapFanouts({ openIdleMs: 0, keepEndedMs: 0 })).toMatchObject({
    expiredOpen: 1,
    told: 1,
    deletedFanouts: 0,
  });
  expect(await stateOf(id)).toBe('expired');
  const { rows } = await shop.pool.query<{ id: number; body: object }>('select id, body from notification');
  expect(rows).toEqual([
    {
      id: expect.any(Number),
      body: { type: 'fanout.expired', fanout: id, userKey: 'told', items: 10, endedAt: expect.any(String) },
    },
  ]);
  await shop.pool.query(`update recipient set used_at = clock() - interval '2 hours'`);
  expect(await deleteUnusedRecipients(shop.pool, 10)).toBe(0);
  await shop.pool.query('update notification set attempts = 1');
  await endNotification(shop.pool, rows[0]!.id, 1, null);
  expect(await shop.client.reapFanouts({ keepEndedMs: 0 })).toMatchObject({ deletedFanouts: 1, deletedSegments: 1 });
  expect((await shop.pool.query('select from notification')).rowCount).toBe(0);
  expect(await deleteUnusedRecipients(shop.pool, 10)).toBe(1);
});

test('each kind goes after its own days, counted from the last add or ack [D14]', async () => {
  const day = (n: number): number => n * 86_400_000;
  const clockAt = async <T>(days: number, work: (pool: ReturnType<typeof createPool>) => Promise<T>): Promise<T> => {
    const pool = createPool({ databaseUrl: shop.database.url, max: 1 });
    await pool.query({ text: `select set_config('muster.clock', $1, false)`, values: [`${days} days`] });
    return work(pool).finally(() => pool.end());
  };
  const [open, sealed, acked] = [await filled(false), await filled(true), await filled(true)];
  const done = await filled(true);
  await shop.client.ackItems(done.ids);
  const intervals = { openIdleMs: day(7), sealedIdleMs: day(30), keepEndedMs: day(7) };
  expect(DEFAULT_REAP).toEqual(intervals);
  const round = (days: number) => clockAt(days, (pool) => reapRound(pool, intervals));
  expect(await round(6.9)).toMatchObject({ expiredOpen: 0, expiredSealed: 0, deletedFanouts: 0 });
  // The 29th day: somebody acks; only once a minute is that written.
  const ackAt = (days: number, index: number) => clockAt(days, (pool) => ackItems(pool, acked.ids[index]!));
  await ackAt(29, 0);
  const activeAt = (await shop.client.getFanout(acked.id))!.activeAt;
  await ackAt(29, 1);
  expect((await shop.client.getFanout(acked.id))!.activeAt).toBe(activeAt);
  await ackAt(29 + 61 / 86_400, 2);
  expect(Date.parse((await shop.client.getFanout(acked.id))!.activeAt) - Date.parse(activeAt)).toBeGreaterThan(60_000);
  expect(await round(7.1)).toMatchObject({ expiredOpen: 1, expiredSealed: 0, deletedFanouts: 1 });
  expect([await stateOf(open.id), await stateOf(done.id)]).toEqual(['expired', undefined]);
  expect(await round(30.1)).toMatchObject({ expiredSealed: 1 });
  expect([await stateOf(sealed.id), await stateOf(acked.id)]).toEqual(['expired', 'sealed']);
  expect(await round(59.1)).toMatchObject({ expiredSealed: 1 });
});

test('never with live work: whoever acks or adds while the reaper looks keeps his fan-out [D14]', async () => {
  const idle = `update fanout set active_at = clock() - interval '8 days' where public_id = $1`;
  for (let i = 0; i < 30; i++) {
    const { id, ids } = await filled(i % 2 === 0);
    await shop.pool.query(idle, [id]);
    const work = i % 2 === 0 ? shop.client.ackItems(ids[0]!) : shop.client.addItems(id, 1);
    const [worked, expired] = await Promise.all([
      work.then(
        () => true,
        () => false,
      ),
      expireFanouts(shop.pool, i % 2 === 0 ? 1 : 0, 7 * 86_400_000, 10),
    ]);
    // One of the two, never both: an accepted ack in a fan-out that is given up would be lost work.
    expect([worked, expired.fanouts]).toEqual(worked ? [true, 0] : [false, 1]);
    const bits = i % 2 === 0 && worked ? [true] : [false];
    if (worked) expect(await shop.client.readItems([ids[0]!])).toEqual(bits);
  }
});

test('an ack that waited for the segment while its fan-out expired is refused, and undone with all of its call [D14]', async () => {
  const [expiring, other] = [await filled(true), await filled(true)];
  await shop.pool.query(`update fanout set active_at = clock() - interval '8 days'`);
  const holder = await shop.pool.connect();
  await holder.query('begin');
  await holder.query(
    `select from segment where fanout_id = (select id from fanout where public_id = '${expiring.id}') for update`,
  );
  const ack = shop.client.ackItems([...other.ids, expiring.ids[0]!]).then(
    () => null,
    (error: unknown) => error,
  );
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%wanted as materialized%' and datname = current_database()`;
  await eventually(async () => (await shop.pool.query(waiting)).rowCount === 1);
  await shop.pool.query(`update fanout set active_at = clock() where public_id = '${other.id}'`);
  expect(await expireFanouts(shop.pool, 1, 7 * 86_400_000, 10)).toMatchObject({ fanouts: 1 });
  await holder.query('rollback');
  holder.release();
  expect(await ack).toMatchObject({ problems: [{ id: expiring.ids[0], code: 'FANOUT_EXPIRED' }] });
  expect(await shop.client.readItems(other.ids)).toEqual(other.ids.map(() => false));
});

test('large ones go in bounded steps, and nobody sees half of one [D14]', async () => {
  const { id } = await shop.client.openFanout({ segmentSize: 1 });
  await shop.client.addItems(id, 5_000);
  await shop.client.sealFanout(id);
  const intervals = { openIdleMs: null, sealedIdleMs: 0, keepEndedMs: 0 };
  const first = await reapRound(shop.pool, intervals);
  expect(first).toMatchObject({ expiredSealed: 1, deletedSegments: 2_000, deletedFanouts: 0, more: true });
  expect(await shop.client.getFanout(id)).toBeNull();
  await expectWhole(shop.client);
  const reaper = new FanoutReaper(shop.pool, intervals);
  const counts = { expiredFanouts: 0, deletedFanouts: 0 };
  for (let i = 0; i < 4; i++) await reaper.look(counts);
  expect([counts, await segments()]).toEqual([{ expiredFanouts: 0, deletedFanouts: 1 }, 0]);
});

test('the rows of adds of many go in bounded steps, too, and each fan-out after its own', async () => {
  const ids = [await filled(true), await filled(true), await filled(true)].map(({ id }) => id);
  await shop.pool.query(`
insert into fanout_add (fanout_id, key, first, items)
select f.id, 'key ' || n, 0, 1 from fanout f cross join generate_series(1, 1500) n`);
  const adds = async (): Promise<number> => (await shop.pool.query('select from fanout_add')).rowCount!;
  const intervals = { openIdleMs: null, sealedIdleMs: 0, keepEndedMs: 0 };
  const first = await reapRound(shop.pool, intervals);
  expect([await adds(), first]).toMatchObject([2_500, { deletedSegments: 3, deletedFanouts: 1, more: true }]);
  await expectWhole(shop.client);
  expect(await shop.client.reapFanouts({ sealedIdleMs: 0, keepEndedMs: 0 })).toMatchObject({
    deletedFanouts: 2,
  });
  expect([await adds(), (await shop.pool.query('select from fanout')).rowCount]).toEqual([0, 0]);
  for (const id of ids) expect(await stateOf(id)).toBeUndefined();
});

test('a look that fails is not repeated with each round', async () => {
  let looks = 0;
  const failing = { query: () => Promise.reject(new Error(`look ${++looks}`)) };
  const reaper = new FanoutReaper(failing as unknown as FanoutShop['pool'], DEFAULT_REAP);
  const counts = { expiredFanouts: 0, deletedFanouts: 0 };
  await expect(reaper.look(counts)).rejects.toThrow('look 1');
  await reaper.look(counts);
  expect(looks).toBe(1);
});

test('the sweeper of a worker keeps to the intervals that its operator has set, in its first round', async () => {
  const { id } = await filled(false);
  const sealed = await filled(true);
  const fanouts = { openIdleMs: 0, sealedIdleMs: null, keepEndedMs: null };
  const worker = await anotherNode({ database: shop.database, prefix: shop.client.prefix }, [], { fanouts });
  try {
    await eventually(async () => (await stateOf(id)) === 'expired', { timeoutMs: 30_000, what: 'an expired fan-out' });
  } finally {
    await worker.stop();
  }
  expect(await stateOf(sealed.id)).toBe('sealed');
});

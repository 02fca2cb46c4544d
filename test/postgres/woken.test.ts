import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { grantLanes } from '../../activities/lanes/grant';
import { defineHandler } from '../../handlers';
import { DEFAULT_NODE_SETTINGS } from '../../activities/nodes/settings';
import * as leaders from '../../postgres/grouping/leaderWakes';
import { wakeExpiredQueuers, wakeQueuers } from '../../postgres/lanes/queuer';
import { wakeLeaders } from '../../postgres/grouping/ring';
import type { Bench } from '../workflows/bench';
import { openBench } from '../workflows/bench';

/**
 * `woken_at`: since when a wake has gone unanswered. Set by whoever wakes, kept by whoever wakes
 * again, cleared by the turn that answers.
 */

const done = { submit: () => Promise.resolve({ results: [] }) };
const orders = defineHandler({
  name: 'orders',
  target: () => 'shop',
  leaders: 1,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  ...done,
});
const edits = defineHandler({ name: 'edits', target: () => 'wiki', limits: { maxItems: 10 }, lane: {}, ...done });

let bench: Bench;
const run = { runId: randomUUID(), runStartedAtMs: 1_000 };
const query = async (text: string): Promise<Record<string, unknown>[]> => (await bench.database.pool.query(text)).rows;
const wokenAt = async (table: 'leader' | 'queuer'): Promise<Date | null> =>
  (await query(`select woken_at from ${table} order by id limit 1`))[0]!['woken_at'] as Date | null;

const waits = (table: 'leader' | 'queuer'): Promise<unknown> =>
  query(
    `update ${table} set state = 2, wake_at = clock(), expires_at = clock() - interval '1 s', woken_at = clock() - interval '1 h'`,
  );
const isRecent = async (table: 'leader' | 'queuer'): Promise<boolean> =>
  (await query(`select woken_at > clock() - interval '30 min' as recent from ${table} order by id limit 1`))[0]![
    'recent'
  ] as boolean;

beforeAll(async () => {
  bench = await openBench([orders, edits]);
});
afterAll(() => bench.stop());

describe('a leader', () => {
  beforeAll(() => bench.client.submit('orders', { id: 'one', payload: {} }));
  const target = async (): Promise<number[]> => (await query('select id from target')).map(({ id }) => id as number);

  test('is woken by a ring, woken again by the sweeper, and answers by a turn', async () => {
    const since = await wokenAt('leader');
    expect(since).toBeInstanceOf(Date);
    await query(`update leader set expires_at = clock() - interval '1 s'`);
    expect(await leaders.wakeExpiredLeaders(bench.database.pool, 10, 3_000)).toHaveLength(1);
    expect(await wokenAt('leader')).toEqual(since);
    await bench.turn(run, 1);
    expect(await wokenAt('leader')).toBeNull();
  });

  test('is not woken yet where its work lies ahead', async () => {
    await query('update leader set state = 0, wake_at = null, expires_at = null, blocked = false');
    await query(`update target set due_at = clock() + interval '1 h', busy = false`);
    expect(await wakeLeaders(bench.database.pool, await target(), 3_000)).toHaveLength(1);
    expect(await wokenAt('leader')).toBeNull();
  });

  const handlerId = async (): Promise<number> =>
    (await query(`select id from handler where name = 'orders'`))[0]!['id'] as number;
  const pool = (): Bench['database']['pool'] => bench.database.pool;
  const partition = `insert into lease (resource, epoch, acquired_at, expires_at) values ('partition/orders/0', 1, clock(), clock());
    insert into partition (resource, handler_id, no) select 'partition/orders/0', id, 0 from handler where name = 'orders'`;
  const wakers: Record<string, () => Promise<unknown[]>> = {
    'what another one held is free': async () => leaders.wakeBlockedLeaders(pool(), await handlerId(), null, 3_000),
    'its partition is served': async () => {
      await query(partition);
      return leaders.wakeServedLeaders(pool(), ['partition/orders/0'], 3_000);
    },
    'a slot is free': async () => leaders.wakeForFreeSlots(pool(), await handlerId(), -1, 3_000),
    'it is resumed': () => leaders.wakeResumedLeaders(pool(), 'orders', null, 3_000),
    'its lease has passed': () => leaders.wakeExpiredLeaders(pool(), 10, 3_000),
  };
  test.each(Object.keys(wakers))('is woken when %s', async (when) => {
    // With the time of an earlier wake, as a version that does not know the column leaves it
    // behind: it means nothing to who waits.
    await query('delete from dispatch');
    await query('update leader set blocked = true, wants_slots = true');
    await waits('leader');
    expect(await wakers[when]!()).toHaveLength(1);
    expect(await isRecent('leader')).toBe(true);
  });
});

test('a queuer is woken by a ring, woken again by the sweeper, and answers by a turn', async () => {
  const { pool } = bench.database;
  await bench.client.submitBatch('edits', 'wiki', [{ id: 'a', payload: {} }]);
  const since = await wokenAt('queuer');
  expect(since).toBeInstanceOf(Date);
  expect(await wakeQueuers(pool, [0], 3_000)).toEqual([]);
  await query(`update queuer set expires_at = clock() - interval '1 s'`);
  expect(await wakeExpiredQueuers(pool, 3_000)).toHaveLength(1);
  expect(await wokenAt('queuer')).toEqual(since);
  const input = { ...run, queuerId: 0, turn: 1, live: [], mayClaim: true };
  await grantLanes({ pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: pino({ level: 'silent' }) }, input);
  expect(await wokenAt('queuer')).toBeNull();
  await waits('queuer');
  expect(await wakeExpiredQueuers(pool, 3_000)).toHaveLength(1);
  expect(await isRecent('queuer')).toBe(true);
});

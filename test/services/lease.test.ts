import { acquireLease, releaseLease } from '../../postgres/lease';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { SteppedClock } from '../helpers/clock';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const LONG = 60_000;

test('free, then mine, then expired: each may be acquired, a live one of another may not [A7]', async () => {
  const { pool } = database;
  expect(await acquireLease(pool, 'one', 'a', LONG)).toBe(1);
  expect(await acquireLease(pool, 'one', 'a', LONG)).toBe(1);
  expect(await acquireLease(pool, 'one', 'b', LONG)).toBeNull();
  await pool.query(`update lease set expires_at = clock() - interval '1 ms' where resource = 'one'`);
  expect(await acquireLease(pool, 'one', 'b', LONG)).toBe(2);
  expect(await acquireLease(pool, 'one', 'a', LONG)).toBeNull();
});

test('the epoch rises with every holder, also when the same one comes back after its lease had passed', async () => {
  const { pool } = database;
  expect(await acquireLease(pool, 'two', 'a', LONG)).toBe(1);
  await releaseLease(pool, 'two', 'a', 1);
  expect(await acquireLease(pool, 'two', 'b', LONG)).toBe(2);
  await pool.query(`update lease set expires_at = clock() where resource = 'two'`);
  expect(await acquireLease(pool, 'two', 'b', LONG)).toBe(3);
});

test('who is refused has not locked the row: many ask, and one holds it', async () => {
  const { pool } = database;
  const locked = async (): Promise<string> =>
    (await pool.query<{ xmax: string }>(`select xmax::text from lease where resource = 'read'`)).rows[0]!.xmax;
  await acquireLease(pool, 'read', 'a', LONG);
  const before = await locked();
  expect(await acquireLease(pool, 'read', 'b', LONG)).toBeNull();
  expect(await locked()).toBe(before);
});

test('a deposed holder does not release what another one has', async () => {
  const { pool } = database;
  await acquireLease(pool, 'three', 'a', LONG);
  await pool.query(`update lease set expires_at = clock() where resource = 'three'`);
  expect(await acquireLease(pool, 'three', 'b', LONG)).toBe(2);
  await releaseLease(pool, 'three', 'a', 1);
  expect(await acquireLease(pool, 'three', 'c', LONG)).toBeNull();
});

test('of 16 contenders exactly one wins, 50 times over [A7]', async () => {
  const { pool } = database;
  for (let round = 1; round <= 50; round++) {
    const won = await Promise.all(
      Array.from({ length: 16 }, (_, i) => acquireLease(pool, 'contended', `holder ${i}`, LONG)),
    );
    expect(won.filter((epoch) => epoch !== null)).toEqual([round]);
    await pool.query(`update lease set expires_at = clock() - interval '1 ms' where resource = 'contended'`);
  }
});

test('a lease ends at its very instant: who asks then has the next epoch, the same holder too', async () => {
  const frozen = await createDatabase();
  try {
    const clock = await SteppedClock.create(frozen.pool);
    const since = async (): Promise<number> =>
      (
        await frozen.pool.query<{ ms: number }>(
          'select (extract(epoch from acquired_at) * 1000)::float8 as ms from lease',
        )
      ).rows[0]!.ms;
    const startMs = await clock.unixMs();
    expect(await acquireLease(frozen.pool, 'one', 'a', LONG)).toBe(1);
    await clock.set(startMs + LONG - 1);
    expect(await acquireLease(frozen.pool, 'one', 'b', LONG)).toBeNull();
    await clock.set(startMs + LONG);
    expect(await acquireLease(frozen.pool, 'one', 'b', LONG)).toBe(2);
    expect(await since()).toBe(startMs + LONG);
    await clock.set(startMs + 2 * LONG);
    expect(await acquireLease(frozen.pool, 'one', 'b', LONG)).toBe(3);
    expect(await since()).toBe(startMs + 2 * LONG);
    await clock.set(startMs + 2 * LONG + 1);
    expect(await acquireLease(frozen.pool, 'one', 'b', LONG)).toBe(3);
    expect(await since()).toBe(startMs + 2 * LONG);
  } finally {
    await frozen.drop();
  }
});

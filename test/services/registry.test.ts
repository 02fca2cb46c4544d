import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { Heartbeat } from '../../activities/nodes/heartbeat';
import {
  deleteStaleNodes,
  drainNode,
  forgetDrains,
  removeNode,
  servedHandlers,
  touchNode,
  undrainNode,
} from '../../postgres/nodes/node';
import type { Pool } from '../../postgres/pool';
import { createPool } from '../../postgres/pool';
import { Registry } from '../../workers/registry';
import { tapPool } from '../chaos/judge/tap';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/** @slow */

let database: TestDatabase;
const running: Registry[] = [];
beforeAll(async () => {
  database = await createDatabase();
});
afterEach(() => Promise.all(running.splice(0).map((registry) => registry.stop())));
afterAll(() => database.drop());

const register = async (
  id: string,
  everyMs = 20,
  {
    silenceMs = 3_000,
    onAnswers = () => undefined,
    pool = database.pool,
  }: { silenceMs?: number; onAnswers?: () => void; pool?: Pool } = {},
): Promise<Registry> => {
  const node = { id, taskQueue: 'queue', handlers: ['orders', 'mails'], version: '1.2.3' };
  const log = pino({ level: 'silent' });
  const heartbeat = new Heartbeat({ pool, log, onAnswers });
  const registry = new Registry({ pool, heartbeat, node, log, everyMs, silenceMs });
  running.push(registry);
  await registry.start();
  return registry;
};
interface Row {
  id: string;
  handlers: string[];
  version: string;
  task_queue: string;
  draining: boolean;
  age: number;
  seen: string;
  timers_late_ms: number | null;
}
const read = async (id: string): Promise<Row | undefined> => {
  const text =
    'select *, extract(epoch from clock() - seen_at)::float8 as age, seen_at::text as seen from node where id = $1';
  return (await database.pool.query<Row>({ text, values: [id] })).rows[0];
};

test('a node is there from its start, gives signs of life, says that it drains, and goes at a clean stop', async () => {
  const registry = await register('a');
  const first = await read('a');
  expect(first).toMatchObject({
    handlers: ['orders', 'mails'],
    version: '1.2.3',
    task_queue: 'queue',
    draining: false,
  });
  await eventually(async () => (await read('a'))!.seen > first!.seen);
  expect(await servedHandlers(database.pool, 30_000)).toEqual(['mails', 'orders']);
  await registry.drain();
  expect((await read('a'))!.draining).toBe(true);
  expect(await servedHandlers(database.pool, 30_000)).toEqual([]);
  const drained = await read('a');
  await eventually(async () => (await read('a'))!.seen > drained!.seen); // it lives until it stops
  expect((await read('a'))!.draining).toBe(true);
  await registry.stop();
  expect(await read('a')).toBeUndefined();
});

test('a node that was taken for dead is back with its next sign of life', async () => {
  await register('b');
  await database.pool.query(`update node set seen_at = clock() - interval '2 hours' where id = 'b'`);
  await eventually(async () => (await read('b'))!.age < 60);
  await database.pool.query(`delete from node where id = 'b'`);
  expect(await eventually(() => read('b'))).toMatchObject({ version: '1.2.3', handlers: ['orders', 'mails'] });
});

test('how late timers are is kept by signs of life, by a drain, and where the row is written anew', async () => {
  const registry = await register('timers');
  expect(await read('timers')).toMatchObject({ timers_late_ms: null });
  await registry.noteTimers(1_000);
  expect(await read('timers')).toMatchObject({ timers_late_ms: 1_000 });
  await database.pool.query(`delete from node where id = 'timers'`);
  expect(await eventually(() => read('timers'))).toMatchObject({ timers_late_ms: 1_000 });
  await registry.drain();
  expect(await read('timers')).toMatchObject({ timers_late_ms: 1_000, draining: true });
  await registry.noteTimers(20);
  expect(await read('timers')).toMatchObject({ timers_late_ms: 20, draining: true });
  await registry.stop();
  await registry.noteTimers(30); // measured too late
  expect(await read('timers')).toBeUndefined();
});

test('a row that is still being written at the end is deleted, too', async () => {
  const pool = createPool({ databaseUrl: database.url, max: 3 });
  let isHeld = false;
  let removed = (): void => undefined;
  const isRemoved = new Promise<void>((resolve) => (removed = resolve));
  // The write comes after the deletion, unless that waits for it.
  tapPool(pool, {
    before: async ({ name }) => void (isHeld && name === 'touch-node' && (await Promise.race([isRemoved, sleep(500)]))),
    after: async ({ name }) => void (name === 'remove-node' && removed()),
  });
  const registry = await register('late', 60_000, { pool });
  isHeld = true;
  const noted = registry.noteTimers(1_000);
  await registry.stop();
  await noted;
  expect(await read('late')).toBeUndefined();
  await pool.end();
});

test('nothing writes the row after the end, a drain neither', async () => {
  const registry = await register('over');
  await registry.stop();
  await registry.drain();
  expect(await read('over')).toBeUndefined();
});

test('heartbeats survive connections that the server closes', async () => {
  await register('c');
  for (let i = 0; i < 3; i++) {
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()`,
      [database.name],
    );
    const before = await eventually(() => read('c').catch(() => null));
    await eventually(async () => ((await read('c').catch(() => undefined))?.seen ?? '') > before.seen);
  }
});

test('heartbeats go on while work blocks the process, and end where it hangs for longer than any work may take', async () => {
  await database.pool.query(`create table beats (at timestamptz default clock_timestamp());
create function note_beat() returns trigger language plpgsql as $$ begin insert into beats default values; return null; end $$;
create trigger note_beat after update on node for each row when (new.id = 'busy') execute function note_beat()`);
  await register('busy', 100);
  await eventually(async () => (await database.pool.query('select from beats')).rowCount! > 0); // its thread runs
  await database.pool.query('delete from beats');
  const until = Date.now() + 6_000;
  while (Date.now() < until); // nothing else of this thread runs
  const { rows } = await database.pool.query<{ n: number; last: number }>(
    `select count(*)::int as n, extract(epoch from clock_timestamp() - max(at))::float8 as last from beats`,
  );
  expect(rows[0]!.n).toBeGreaterThan(10);
  expect(rows[0]!.last).toBeGreaterThan(1.5); // 3 s of silence, then none; looks that came late do not count
  await eventually(async () => (await read('busy'))!.age < 1); // and it is back with the main thread
});

test('the row says that the main thread hangs in a busy loop, and its return is reported [E3]', async () => {
  await database.pool.query(`create table hangs (ms float8);
create function note_hang() returns trigger language plpgsql as $$ begin
  insert into hangs values (extract(epoch from new.seen_at - new.answered_at) * 1000); return null; end $$;
create trigger note_hang after update on node for each row when (new.id = 'loops') execute function note_hang()`);
  let answered = 0;
  // No heartbeat is due before the change.
  await register('loops', 600_000, { silenceMs: 600_000, onAnswers: () => void answered++ });
  await eventually(async () => (await database.pool.query('select from hangs')).rowCount! > 0); // its thread runs
  const until = Date.now() + 6_500;
  while (Date.now() < until); // nothing else of this thread runs
  const hung = await database.pool.query<{ ms: number }>('select ms from hangs where ms >= 5000');
  expect(hung.rowCount).toBe(1);
  await eventually(() => answered === 1);
  const now = 'select extract(epoch from seen_at - answered_at)::float8 as s from node where id = $1';
  expect((await database.pool.query<{ s: number }>(now, ['loops'])).rows[0]!.s).toBeLessThan(5);
});

test('a drain outlives the row of its node: a process that is back is as drained as before, one of a drained name from its start [B10]', async () => {
  const { pool } = database;
  const touch = (id: string, name: string | null = null): Promise<unknown> =>
    touchNode(pool, { id, name, taskQueue: 'q', handlers: [], version: '1', draining: false });
  const drained = async (): Promise<string[]> =>
    (await pool.query<{ id: string }>(`select id from node where drained order by id`)).rows.map(({ id }) => id);
  await Promise.all([touch('d-1', 'green'), touch('d-2', 'blue'), touch('d-3')]);
  expect(await drainNode(pool, 'nobody')).toEqual([]);
  expect(await drainNode(pool, 'green')).toEqual(['d-1']);
  expect(await drainNode(pool, 'd-3')).toEqual(['d-3']);
  expect(await drainNode(pool, 'd-3')).toEqual(['d-3']); // again is the same
  await Promise.all(['d-1', 'd-2', 'd-3'].map((id) => removeNode(pool, id)));
  await Promise.all([touch('d-3'), touch('d-4', 'green'), touch('d-5', 'blue'), touch('nobody')]);
  expect(await drained()).toEqual(['d-3', 'd-4']);
  // By id or name, whatever was said; also while nobody of that name is there.
  expect(await undrainNode(pool, 'd-4')).toEqual({ ids: ['d-4'], wasDrained: true });
  await touch('d-4', 'green');
  await removeNode(pool, 'd-3');
  expect(await undrainNode(pool, 'd-3')).toEqual({ ids: [], wasDrained: true });
  expect(await undrainNode(pool, 'd-3')).toEqual({ ids: [], wasDrained: false });
  await touch('d-3');
  expect(await drained()).toEqual([]);
  // What was said of a process that is gone is forgotten some day, what was said of a name is not.
  await drainNode(pool, 'd-3');
  await drainNode(pool, 'd-5');
  await drainNode(pool, 'green');
  await Promise.all(['d-3', 'd-4'].map((id) => removeNode(pool, id)));
  await pool.query(`update drain set drained_at = drained_at - interval '8 days'`);
  await forgetDrains(pool, 7 * 24 * 3_600_000);
  expect((await pool.query('select node, is_name as named from drain order by 1')).rows).toEqual([
    { node: 'd-5', named: false },
    { node: 'green', named: true },
  ]);
});

test('only nodes silent for longer than the limit are removed', async () => {
  await database.pool.query(
    `insert into node (id, task_queue, started_at, seen_at) values ('old', 'q', clock(), clock() - interval '61 minutes'), ('young', 'q', clock(), clock() - interval '59 minutes')`,
  );
  expect(await deleteStaleNodes(database.pool, 3_600_000)).toBe(1);
  expect(await read('old')).toBeUndefined();
  expect(await read('young')).toBeDefined();
});

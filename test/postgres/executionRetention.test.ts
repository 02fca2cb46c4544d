import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { DEFAULT_EXECUTION_SETTINGS } from '../../activities/executions/settings';
import { createClient } from '../../client';
import type { Client } from '../../client';
import * as staging from '../../postgres/executions/execution';
import { deleteDiscardedItems, discardExecutions, reapExecutions } from '../../postgres/executions/reap';
import { createPool } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import { ExecutionReaper } from '../../workers/sweeper/executionReaper';
import { Sweeper } from '../../workers/sweeper/sweeper';
import { letSessionsMoveClock } from '../helpers/clock';
import type { TestDatabase } from '../helpers/database';
import { expectWhole } from '../helpers/whole';
import { createDatabase, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { oneEach, Scene } from './executionStore';
import { Requests } from '../../workflows/temporal/requests';

/**
 * Retention of executions: what is over goes, whole, after its time; nothing that is open ever
 * does.
 *
 * @slow
 */

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** A chunk's lease: no reaper asks for it. */
const HOUR_MS = 3_600_000;
let database: TestDatabase;
let client: Client;
beforeEach(async () => {
  database = await createDatabase();
  await letSessionsMoveClock(database.pool);
  client = createClient({ databaseUrl: database.url, temporal: { address: temporalAddress() } });
});
afterEach(async () => {
  try {
    await expectWhole(client);
  } finally {
    await client.close();
    await database.drop();
  }
});

/** The store's clock, so many days on. */
const at = async <T>(days: number, work: (pool: Pool) => Promise<T>): Promise<T> => {
  const pool = createPool({ databaseUrl: database.url, max: 1 });
  await pool.query({ text: `select set_config('muster.clock', $1, false)`, values: [`${days} days`] });
  return work(pool).finally(() => pool.end());
};
const ended = async (lists: string[][], node = 'a'): Promise<Scene> => {
  const scene = await Scene.of(database.pool, lists);
  const [chunk] = (await scene.plan([node])) as [string];
  const epoch = await scene.take(chunk, node, HOUR_MS);
  await scene.record(chunk, node, epoch, ...lists.map((_, position) => ({ position })));
  return scene;
};
const rows = async (): Promise<number[]> => {
  const { rows: found } = await database.pool.query<{ n: number }>(
    'select count(*)::int as n from execution union all select count(*)::int from chunk union all select count(*)::int from work_item',
  );
  return found.map(({ n }) => n);
};

test('done and cancelled ones go 7 days after their end, with their chunks and items; created, running and staged ones never, however old', async () => {
  expect(DEFAULT_EXECUTION_SETTINGS.retentionMs).toBe(WEEK_MS);
  const done = await ended(oneEach(5));
  const cancelled = await Scene.of(database.pool, oneEach(4));
  await cancelled.plan(['a']);
  await client.execution(cancelled.id).cancel();
  const created = await Scene.of(database.pool, oneEach(3));
  const running = await Scene.of(database.pool, oneEach(2));
  const [chunk] = (await running.plan(['b'])) as [string];
  await running.take(chunk, 'b', HOUR_MS);
  const staged = {
    id: randomUUID(),
    functionId: 'c',
    method: 'f',
    config: {},
    topic: null,
    maxAttempts: 0,
    tenant: null,
  };
  await staging.insertExecution(database.pool, staged);
  await staging.appendItems(database.pool, staged.id, 0, { contentIds: [randomUUID()], argumentLists: ['[]'] });
  const ids = async (): Promise<string[]> => (await client.executions()).map(({ id }) => id).toSorted();
  const all = [done.id, cancelled.id, created.id, running.id, staged.id];

  expect(await at(6.9, (pool) => reapExecutions(pool, WEEK_MS))).toMatchObject({ discarded: 0, deletedExecutions: 0 });
  expect(await ids()).toEqual(all.toSorted());
  expect(await at(7.1, (pool) => reapExecutions(pool, WEEK_MS))).toMatchObject({
    discarded: 2,
    deletedItems: 9,
    deletedChunks: 2,
    deletedExecutions: 2,
  });
  expect(await at(400, (pool) => reapExecutions(pool, WEEK_MS))).toMatchObject({ discarded: 0, deletedItems: 0 });
  expect(await ids()).toEqual([created.id, running.id, staged.id].toSorted());
  expect(await rows()).toEqual([3, 1, 6]);
  await expect(client.execution(done.id).status()).rejects.toThrow(
    /not found\. An ended execution is deleted after its retention period \(7 days, or the workers' executions\.retentionMs\)\.$/,
  );
  // A list that was never completed: an hour after its last part.
  expect(await at(0.04, (pool) => staging.deleteAbandonedStaging(pool, 100))).toBe(0);
  expect(await at(0.05, (pool) => staging.deleteAbandonedStaging(pool, 100))).toBe(1);
  expect(await at(0.05, (pool) => staging.deleteAbandonedStaging(pool, 100))).toBe(1);
  expect(await ids()).toEqual([created.id, running.id].toSorted());
});

test('a large one goes in statements of 2,000 rows; from the first on nobody sees half of it, and its id is not free before the last', async () => {
  const large = await ended(oneEach(4_500));
  const young = await ended(oneEach(3));
  await database.pool.query(`update execution set finished_at = clock() - interval '8 days' where id = $1`, [large.id]);
  expect(await reapExecutions(database.pool, WEEK_MS)).toEqual({
    discarded: 1,
    deletedItems: 2_000,
    deletedChunks: 0,
    deletedExecutions: 0,
    more: true,
  });
  await expect(client.execution(large.id).progress()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(client.execution(large.id).cancel()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  expect((await client.executions()).map(({ id }) => id)).toEqual([young.id]);
  await expectWhole(client);
  await expect(
    Scene.of(database.pool, oneEach(2)).then(() =>
      client.execute({ functionId: 'c', method: 'f' }, oneEach(2), { requestId: large.id }),
    ),
  ).rejects.toMatchObject({ code: 'ID_CONFLICT' });
  const counts = { deletedExecutions: 0, deletedItems: 0 };
  const reaper = new ExecutionReaper(database.pool, WEEK_MS);
  await reaper.look(counts);
  expect(counts).toEqual({ deletedExecutions: 1, deletedItems: 2_500 });
  await reaper.look(counts); // nothing was left: the next look is a minute later
  expect(await rows()).toEqual([2, 1, 5]);
});

test('two reapers at once, and one beside a writer that holds an execution, share the work and never wait', async () => {
  const scenes = [];
  for (let i = 0; i < 20; i++) scenes.push(await ended(oneEach(30)));
  await database.pool.query(`update execution set finished_at = clock() - interval '8 days'`);
  const holder = await database.pool.connect();
  await holder.query('begin');
  await holder.query({ text: 'select from execution where id = $1 for update', values: [scenes[7]!.id] });
  const drain = async (): Promise<void> => {
    while ((await reapExecutions(database.pool, WEEK_MS)).more);
  };
  await Promise.all([drain(), drain()]);
  await drain();
  expect(await rows()).toEqual([1, 1, 30]);
  await holder.query('rollback');
  holder.release();
  await drain();
  expect(await rows()).toEqual([0, 0, 0]);
});

test('the sweeper of any worker does it, with the retention of its config', async () => {
  const [gone, kept] = [await ended(oneEach(3)), await ended(oneEach(2))];
  await database.pool.query(`update execution set finished_at = clock() - interval '2 hours' where id = $1`, [gone.id]);
  const sweeper = new Sweeper({
    pool: database.pool,
    requests: new Requests(await client.temporal()),
    prefix: database.name,
    node: 'n',
    leaseMs: 15_000,
    log: pino({ level: 'silent' }),
    everyMs: 50,
    executions: { startupDelayMs: 0, retentionMs: 3_600_000 },
  });
  sweeper.start();
  await eventually(() => sweeper.counts.deletedExecutions > 0);
  await sweeper.stop();
  expect(sweeper.counts).toMatchObject({ deletedExecutions: 1, deletedItems: 3, failures: 0 });
  expect((await client.executions()).map(({ id }) => id)).toEqual([kept.id]);
});

test('what is old is found by an index, however many there are', async () => {
  const scene = await ended(oneEach(10));
  await database.pool.query(`
insert into execution (id, function_id, method, config, state, items, n_done, created_at, finished_at)
  select gen_random_uuid(), 'c', 'f', '{}', 100, 0, 0, clock(), clock() - i * interval '1 s' from generate_series(1, 20000) i`);
  await database.pool.query(`update execution set state = -4 where id = '${scene.id}'`);
  await database.pool.query('analyze execution, work_item, chunk');
  const planOf = async (work: (db: Pool) => Promise<unknown>): Promise<string> => {
    let text = '';
    let values: unknown[] = [];
    const recorder = {
      query: (config: { text: string; values: unknown[] }) => (
        ({ text, values } = config),
        Promise.resolve({ rowCount: 0, rows: [] })
      ),
    };
    await work(recorder as unknown as Pool);
    const { rows: lines } = await database.pool.query<Record<'QUERY PLAN', string>>({
      text: `explain ${text}`,
      values,
    });
    return lines.map((line) => line['QUERY PLAN']).join('\n');
  };
  const discard = await planOf((db) => discardExecutions(db, WEEK_MS, 500));
  expect(discard).toMatch(/Index Scan using execution_ended/);
  expect(discard).not.toMatch(/Seq Scan|execution_created/);
  const items = await planOf((db) => deleteDiscardedItems(db, 2_000));
  expect(items).toMatch(/Index Scan using execution_deleted[^]*using work_item_pkey[^]*Tid Scan/);
  expect(items).not.toMatch(/Seq Scan/);
  await reapExecutions(database.pool, WEEK_MS);
});

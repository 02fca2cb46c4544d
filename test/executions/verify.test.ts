import { executions as INVARIANTS } from '../../postgres/invariants/executions';
import { verifyStore } from '../../postgres/operations/verify';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { oneEach, Scene } from '../postgres/executionStore';

/** Each invariant of executions finds what breaks it, and nothing in a store that is whole. */

let database: TestDatabase;
let scene: Scene;
beforeAll(async () => {
  database = await createDatabase();
  scene = await Scene.of(database.pool, oneEach(6));
  const [a] = (await scene.plan(['a', 'b'])) as [string];
  const epoch = await scene.take(a, 'a', 60_000);
  await scene.record(a, 'a', epoch, { position: 0 }, { position: 2, ok: false, exitCode: 1 });
  await Scene.of(database.pool, oneEach(2));
  await database.pool.query(
    `insert into node (id, task_queue, started_at, seen_at) values ('n', '', clock() - interval '1 hour', clock() + interval '1 hour')`,
  );
});
afterAll(() => database.drop());

const PLANTS: Record<string, string> = {
  'an execution counts its items by state':
    'update execution set n_running = n_running - 1, n_created = n_created + 1 where n_running > 0',
  'a chunk counts its items in progress': 'update chunk set n_open = n_open - 1 where n_open > 1',
  'an item is in a chunk of the same execution': `update work_item set chunk_id = gen_random_uuid() where position = 0 and chunk_id is not null`,
  'items are numbered without gaps': 'update work_item set position = 77 where position = 1 and state = 0',
  'attempts of an item are within the limit': 'update work_item set attempts = 11 where state = -1',
  'nothing of an ended execution is in progress': `update execution set state = -3, finished_at = clock() where n_running > 0`,
  'a taken chunk is held by a node, or closed in time': `update chunk set expires_at = clock() - interval '5 min' where state = 1`,
  'an open execution is looked at in time': `update execution set resume_at = clock() - interval '5 min' where n_running > 0`,
};

test('a whole store breaks none, and each has its plant', async () => {
  expect((await verifyStore(database.pool)).filter(({ violations }) => violations.length > 0)).toEqual([]);
  expect(Object.keys(PLANTS)).toEqual(INVARIANTS.map(({ name }) => name));
});

test.each(INVARIANTS.map(({ name, text }) => [name, text]))('found: %s', async (name, text) => {
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    await client.query(PLANTS[name]!);
    expect((await client.query(text)).rows).not.toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
  expect((await database.pool.query(text)).rows).toEqual([]);
});

test.each(['100', '-2'])('found: an item that ended in state %s without an attempt', async (state) => {
  const { text } = INVARIANTS.find(({ name }) => name === 'attempts of an item are within the limit')!;
  const client = await database.pool.connect();
  try {
    await client.query('begin');
    const changed = await client.query(`update work_item set state = ${state}, attempts = 0 where state = 100`);
    expect((await client.query(text)).rows).toHaveLength(changed.rowCount!);
    expect(changed.rowCount).toBeGreaterThan(0);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

import { dependencies as DEPENDENCIES } from '../../postgres/invariants/dependencies';
import { executions as EXECUTIONS } from '../../postgres/invariants/executions';
import { fanouts as FANOUTS } from '../../postgres/invariants/fanouts';
import { lanes as LANES } from '../../postgres/invariants/lanes';
import { createPool } from '../../postgres/pool';
import { INVARIANTS, verifyStore } from '../../postgres/operations/verify';
import { TASK_STATES } from '../../workflows/planning/states';
import { tapPool } from '../chaos/judge/tap';
import { eventually } from '../helpers/eventually';
import type { Shop } from './shop';
import { cut, endAlone, items, openShop } from './shop';
import type { Ids } from './plants/plant';
import { plantsOf } from './verifyPlants';

let shop: Shop;
let ids: Ids;
beforeAll(async () => {
  shop = await openShop({ distinctBy: (item) => item.key ?? `own ${item.note ?? ''}`, concurrency: { perTarget: 1 } });
  ids = await fill();
});
afterAll(() => shop.stop());

/** A store with something in every place, whole. */
const fill = async (): Promise<Ids> => {
  const told = { workflowId: 'w-1' };
  await shop.client.submit('items', [
    ...items('se', 'queued', 'open1', 'open2', 'parked', 'done1', 'done2', 'dead', 'part').map((task) => ({
      ...task,
      payload: { ...task.payload, note: task.id },
    })),
    ...items('se', 'told').map((task) => ({ ...task, payload: { ...task.payload, note: 'told' }, callback: told })),
    { id: 'delayed', payload: { to: 'no' }, notBefore: Date.now() + 3_600_000, tags: ['red'] },
  ]);
  const open = await cut(shop.pool, ['open1', 'open2']);
  const parked = await cut(shop.pool, ['parked'], { state: TASK_STATES.unknown, attempt: 1 });
  const done = await cut(shop.pool, ['done1', 'done2', 'dead', 'part', 'told'], { state: 4, results: [[0, 'x']] });
  await endAlone(shop.pool, 'dead', TASK_STATES.dead, 'gave up');
  const { rows } = await shop.pool.query<{ id: number }>({
    text: `
with c as (insert into batch (target_id, leader_id, epoch, turn, state, reason, attempt, counted, parent_id, n, members, bytes, weight, created_at, started_at, finished_at)
  select b.target_id, b.leader_id, 1, 1, 4, 8, 1, 1, b.id, 1, array[t.seq], 1, 1, clock(), clock(), clock() from batch b, task t where b.id = $1 and t.id = 'part' returning id),
m as (update member set batch_id = c.id from c where seq = (select seq from task where id = 'part')),
b as (update batch set n_left = n_left + 1 where id = $1)
select id from c`,
    values: [done],
  });
  await shop.pool.query({
    text: `insert into busy_key (target_id, key, seq) select target_id, key, seq from task where id in ('open1', 'open2', 'parked')`,
  });
  await shop.pool.query({
    text: `insert into notification (batch_id, attempt, recipient_id, body, next_at) select ${done}, 1, id, '{}', clock() + interval '1 hour' from recipient`,
  });
  // A worker has been there for a while: what it keeps up is looked at, too.
  await shop.pool.query({
    text: `insert into node (id, task_queue, started_at, seen_at) values ('n1', 'q', clock() - interval '1 hour', clock() + interval '1 hour')`,
  });
  return { open, parked, done, child: rows[0]!.id };
};
/** Within the transaction of the test, which is rolled back. */
let run: (text: string) => Promise<void>;
const PLANTS = plantsOf((text) => run(text));

test('a store with something in every place is whole', async () => {
  const { ok, checks } = await shop.client.verify();
  expect(checks.filter(({ violations }) => violations.length > 0)).toEqual([]);
  expect(ok).toBe(true);
  expect(checks.map((check) => check.name)).toEqual(INVARIANTS.map((invariant) => invariant.name));
});

test('every invariant has a test that breaks it', () => {
  // Those are broken in the folders of their systems.
  const elsewhere = [...LANES, ...FANOUTS, ...EXECUTIONS, ...DEPENDENCIES];
  const others = INVARIANTS.filter((one) => !elsewhere.includes(one));
  expect(Object.keys(PLANTS).sort()).toEqual(others.map(({ name }) => name).sort());
});

const cases = Object.entries(PLANTS).flatMap(([name, plants]) =>
  plants.map(({ plant, row }, i) => ({ name, no: i + 1, plant, row })),
);
test.each(cases)('found: not "$name" ($no)', async ({ name, plant, row }) => {
  const { text, sample } = INVARIANTS.find((invariant) => invariant.name === name)!;
  const client = await shop.pool.connect();
  run = async (statement) => {
    const { rowCount } = await client.query(statement);
    expect(rowCount === null || rowCount > 0).toBe(true);
  };
  try {
    await client.query('begin');
    expect((await client.query(text)).rows).toEqual([]);
    await plant(ids);
    expect((await client.query(text)).rows).toContainEqual(expect.objectContaining(row(ids)));
    // A part of the store that is all of it shows the same.
    if (sample?.text != null)
      expect((await client.query(sample.text, [['-1'], ['9000000000000000000'], 1_000])).rows).toContainEqual(
        expect.objectContaining(row(ids)),
      );
  } finally {
    await client.query('rollback');
    client.release();
  }
});

const commit = async (text: string): Promise<void> => {
  expect((await shop.pool.query({ text })).rowCount).toBeGreaterThan(0);
};
const violationsOf = async (name: string): Promise<{ ok: boolean; violations: object[] }> => {
  const { ok, checks } = await shop.client.verify();
  return { ok, violations: checks.find((check) => check.name === name)!.violations };
};

test('a wake or a call that is a little late is no fault', async () => {
  const client = await shop.pool.connect();
  try {
    await client.query('begin');
    await client.query(`update leader set state = 1, wake_at = null, woken_at = clock() - interval '20 s'`);
    await client.query(
      `update batch set attempt = 1, started_at = clock(), attempt_until = clock() - interval '30 s' where state = 1`,
    );
    for (const name of ['a woken leader takes a turn', 'a call is concluded after its deadline'])
      expect((await client.query(INVARIANTS.find((one) => one.name === name)!.text)).rows).toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('a target that is busy by the weight of what the downstream has accepted is no fault', async () => {
  const client = await shop.pool.connect();
  const { text } = INVARIANTS.find((one) => one.name === 'a busy target has something in flight')!;
  try {
    await client.query('begin');
    await client.query(`update target set busy = true, weight_per_target = 2 where key = 'se'`);
    await client.query(`update leader set state = 0, wake_at = null, expires_at = null`);
    await client.query(`update batch set dispatch = null, reference = 'r', poll_at = clock() where state = 1`);
    expect((await client.query(text)).rows).toEqual([]);
    await client.query(`update batch set reference = null, poll_at = null where state = 1`);
    expect((await client.query(text)).rows).toMatchObject([{ target: 'se' }]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('what only a worker can keep up is no fault while there is none', async () => {
  const client = await shop.pool.connect();
  try {
    await client.query('begin');
    await client.query(`update target set due_at = clock() - interval '1 hour', busy = false`);
    await client.query(`update leader set state = 1, wake_at = null, expires_at = clock() - interval '1 hour'`);
    const { text } = INVARIANTS.find((one) => one.name === 'a due target has a leader that looks in time')!;
    expect((await client.query(text)).rowCount).toBe(2);
    await client.query(`update node set started_at = clock() - interval '9 s'`);
    expect((await client.query(text)).rowCount).toBe(0);
    await client.query('delete from node');
    expect((await client.query(text)).rowCount).toBe(0);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('verify names what is broken, at most 20 rows of it', async () => {
  await commit(`insert into task (seq, created_at, target_id, bytes, id, payload)
    select 100 + i, clock(), t.id, 1, 'lost' || i, '{}' from generate_series(1, 30) i, target t where t.key = 'se'`);
  const { ok, violations } = await violationsOf('a task is in exactly one place');
  expect(ok).toBe(false);
  expect(violations).toHaveLength(20);
  expect(violations[0]).toEqual({ id: 'lost1', seq: 101, places: [] });
  await commit(`delete from task where id like 'lost%'`);
});

test('what stays broken from one look to the next counts', async () => {
  await commit(`update target set due_at = null where key = 'no'`);
  const found = await violationsOf('a delayed task makes its target due');
  expect(found).toMatchObject({ ok: false, violations: [{ handler: 'items', target: 'no', waits: 'delayed' }] });
});

test('what mends itself between the two looks does not', async () => {
  // Still broken by the test before. The ring that was on its way comes when the first look has
  // ended, and well before the second.
  const { rows } = await shop.pool.query<{ id: number }>({ text: `select id from target where key = 'no'` });
  const { pool } = shop.client;
  const connects = jest.spyOn(pool, 'connect');
  const verifying = shop.client.verify();
  await eventually(() => connects.mock.calls.length === 1 && pool.idleCount === pool.totalCount, {
    everyMs: 5,
    what: 'the end of the first look',
  });
  connects.mockRestore();
  await shop.client.ring([rows[0]!.id]);
  expect((await verifying).ok).toBe(true);
});

test('of two tasks that pass, neither is one that stays: the second look finds the same task or none', async () => {
  const pool = createPool({ databaseUrl: shop.database.url, max: 2, applicationName: 'verify' });
  const first = `seq = (select seq from task where id = 'queued')`;
  try {
    await shop.client.submit(
      'items',
      items('se', 'behind').map((task) => ({ ...task, payload: { ...task.payload, note: 'behind' } })),
    );
    await shop.pool.query(`update target set due_at = null where key = 'se'`);
    let looks = 0;
    let left: { rows: object[] } = { rows: [] };
    tapPool(pool, {
      before: async ({ name }) => {
        if (!name.startsWith('begin') || ++looks !== 2) return;
        left = await shop.pool.query<object>(`delete from queue where ${first} returning *`);
      },
    });
    const broken = (await verifyStore(pool)).filter(({ violations }) => violations.length > 0);
    expect(looks).toBe(2);
    expect(left.rows).toHaveLength(1);
    expect(broken.map(({ name }) => name)).not.toContain('a ready task makes its target due');
    await shop.pool.query({
      text: `insert into queue select * from jsonb_populate_record(null::queue, $1)`,
      values: [JSON.stringify(left.rows[0])],
    });
  } finally {
    await shop.pool.query(`update target set due_at = clock() where key = 'se'`);
    await shop.client.cancel(['behind']);
    await pool.end();
  }
});

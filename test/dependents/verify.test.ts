import { dependencies } from '../../postgres/invariants/dependencies';
import { verifyStore } from '../../postgres/operations/verify';
import { createPool } from '../../postgres/pool';
import { tapPool } from '../chaos/judge/tap';
import type { Shop } from '../client/shop';
import { openShop } from '../client/shop';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await shop.client.submit('items', [
    { id: 'a', payload: { to: 'se' } },
    { id: 'b', payload: { to: 'se' }, dependsOn: ['a'] },
    { id: 'c', payload: { to: 'se' }, dependsOn: ['a', 'b'] },
  ]);
});
afterAll(() => shop.stop());

const seqOf = (id: string): string => `(select seq from task where id = '${id}')`;

/** For each invariant how it is broken by hand, and what one of its rows then says. */
const PLANTS: Record<string, { plant: string; row: object }[]> = {
  'a held task waits for one that has not ended': [
    // Its dependency was marked, and nothing released it.
    {
      plant: `update task_dependency set state = 4 where seq = ${seqOf('b')}`,
      row: { id: 'b', waitsFor: null },
    },
    // Its dependency ended, and nothing noted it.
    {
      plant: `with q as (delete from queue where seq = ${seqOf('a')}),
        t as (insert into outcome (seq, target_id, state, attempts, at) select seq, target_id, 4, 1, clock() from task where id = 'a')
        select 1`,
      row: { id: 'b', waitsFor: ['a'] },
    },
    { plant: `delete from task_dependency where seq = ${seqOf('c')}`, row: { id: 'c', waitsFor: null } },
  ],
  'a held task has none that ended as it must not': [
    {
      plant: `update task_dependency set state = 6 where seq = ${seqOf('c')} and needs = ${seqOf('a')}`,
      row: { id: 'c', dependsOn: 'a', state: 6 },
    },
  ],
  'what is held is a task, and the same of it': [
    { plant: `update held set target_id = 999 where seq = ${seqOf('b')}`, row: { id: 'b', targetId: 999 } },
    { plant: 'insert into held (seq, target_id) values (1, 1)', row: { id: null, seq: 1 } },
  ],
  'a dependency is of a task, and names another': [
    { plant: `update task_dependency set needs_id = 'x' where seq = ${seqOf('b')}`, row: { dependsOn: 'x', id: 'a' } },
    {
      plant: `insert into task_dependency (seq, needs, place, run, needs_id) values (99, 1, 0, false, 'y')`,
      row: { seq: 99, dependsOn: 'y' },
    },
  ],
};

test('every invariant has a test that breaks it', () => {
  expect(Object.keys(PLANTS)).toEqual(dependencies.map(({ name }) => name));
});

test.each(
  Object.entries(PLANTS).flatMap(([name, plants]) => plants.map((planted, i) => ({ name, no: i + 1, ...planted }))),
)('found: not "$name" ($no)', async ({ name, plant, row }) => {
  const { text, sample } = dependencies.find((one) => one.name === name)!;
  const client = await shop.pool.connect();
  try {
    await client.query('begin');
    expect((await client.query(text)).rows).toEqual([]);
    await client.query(plant);
    await client.query('delete from ended_dependency');
    expect((await client.query(text)).rows).toContainEqual(expect.objectContaining(row));
    const part = (await client.query(sample!.text!, [['-1'], ['9000000000000000000'], 1_000])).rows;
    expect(part).toContainEqual(expect.objectContaining(row));
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('an end that is noted and not worked off yet is no fault', async () => {
  const client = await shop.pool.connect();
  try {
    await client.query('begin');
    await client.query(PLANTS['a held task waits for one that has not ended']![1]!.plant);
    expect((await client.query('select state from ended_dependency')).rows).toEqual([{ state: 4 }]);
    for (const { text } of dependencies) expect((await client.query(text)).rows).toEqual([]);
  } finally {
    await client.query('rollback');
    client.release();
  }
});

test('a task whose release is on its way when verify looks first is no fault', async () => {
  const pool = createPool({ databaseUrl: shop.database.url, max: 2, applicationName: 'verify' });
  const mark = (state: string) =>
    shop.pool.query({ text: `update task_dependency set state = ${state} where seq = ${seqOf('b')}` });
  let looks = 0;
  tapPool(pool, {
    before: async ({ name }) => {
      if (name.startsWith('begin') && ++looks === 2) await mark('null');
    },
  });
  try {
    await mark('4');
    const broken = (await verifyStore(pool)).filter(({ violations }) => violations.length > 0);
    expect(looks).toBe(2);
    expect(broken).toEqual([]);
  } finally {
    await mark('null');
    await pool.end();
  }
});

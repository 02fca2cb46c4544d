import type { TestDatabase } from '../helpers/database';
import type { Client } from '../../client';
import { Downstream, items } from './downstream';
import type { LaneStore } from './laneStore';
import { openLaneStore } from './laneStore';

/** What a lane refuses, and what it keeps: no worker here. */

let shop: LaneStore;
let database: TestDatabase;
let client: Client;
beforeAll(async () => {
  const downstream = new Downstream();
  shop = await openLaneStore([
    downstream.handler({
      limits: { maxItems: 3, maxBytes: 1_000, maxWeight: 5 },
      weightOf: (edit) => edit.price ?? 1,
    }),
    downstream.handler({ name: 'named', service: (target) => `service of ${target}` }),
    downstream.handler({ name: 'bounded', service: (target) => target.split('/')[0]!, maxQueued: { perTarget: 2 } }),
  ]);
  ({ database, client } = shop);
});
afterAll(() => shop.stop());
const stored = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>('select count(*)::int as n from task');
  return rows[0]!.n;
};

test('batches of a lane are numbered in the order of their commits, whatever their transactions do [C27]', async () => {
  const slow = await database.pool.connect();
  await slow.query('begin');
  const first = await client.submitBatch('edits', 'po-9', items('po-9'), { tx: slow });
  const second = client.submitBatch('edits', 'po-9', items('po-9'));
  const other = await client.submitBatch('edits', 'po-10', items('po-10')); // another lane does not wait
  await slow.query('commit');
  slow.release();
  const { rows } = await database.pool.query<{ id: number }>(
    `select s.batch_id as id from lane_batch s join lane l on l.id = s.lane_id where l.service = 'po-9' order by s.seq`,
  );
  void other;
  expect([(await second).batch].map((id) => id > first.batch)).toEqual([true]);
  const after = await database.pool.query<{ id: number }>(
    `select s.batch_id as id from lane_batch s join lane l on l.id = s.lane_id where l.service = 'po-9' order by s.seq`,
  );
  expect(after.rows.map(({ id }) => id)).toEqual([first.batch, (await second).batch]);
  expect(rows.length).toBeLessThanOrEqual(2);
});

test('a rolled back transaction leaves nothing', async () => {
  const before = await stored();
  const tx = await database.pool.connect();
  await tx.query('begin');
  await client.submitBatch('edits', 'po-11', items('po-11'), { tx });
  await tx.query('rollback');
  tx.release();
  expect(await stored()).toBe(before);
});

test('the same items again are the same batch; some of them, or others, are a conflict [A1 G10]', async () => {
  const some = items('po-12', 2);
  const first = await client.submitBatch('edits', 'po-12', some);
  expect(await client.submitBatch('edits', 'po-12', some)).toEqual({ ...first, accepted: false });
  await expect(client.submitBatch('edits', 'po-12', some.slice(0, 1))).rejects.toThrow(/id.*accepted before/);
  const changed = [{ ...some[0]!, payload: { service: 'po-12', price: 2 } }, some[1]!];
  await expect(client.submitBatch('edits', 'po-12', changed)).rejects.toThrow(/accepted before/);
});

test('a target feeds one service, for good [C4]', async () => {
  await client.submitBatch('edits', 'po-13', items('target-13'));
  await expect(client.submitBatch('edits', 'po-14', items('target-13'))).rejects.toThrow(/already bound.*po-14/s);
  await expect(client.submitBatch('named', 'po-15', items('t'))).rejects.toThrow(/service of t/);
  await expect(
    database.pool.query(
      `update lane_batch set lane_id = (select id from lane where service = 'po-9') where lane_id = (select id from lane where service = 'po-13')`,
    ),
  ).rejects.toThrow(/foreign key/);
});

const many = (n: number, prefix: string): string[] => Array.from({ length: n }, (_, i) => `${prefix}${i}`);
test.each([
  ['no items', 'po', [], {}, /items: expected an array of 1 to 10000 tasks, got 0/],
  [
    'too many for the handler',
    'po',
    items('po', 4),
    {},
    /expected at most 3 items, the limit of handler "edits", got 4/,
  ],
  ['too heavy together', 'po', items('po', 3, { price: 2 }), {}, /expected at most 5 units of weight.*got 6/],
  ['a service without a name', '', items('po'), {}, /service: expected 1-512 bytes/],
  ['too long a name', 'x'.repeat(513), items('po'), {}, /service: expected 1-512 bytes, got 513/],
  [
    'too many reads',
    'po',
    items('po'),
    { reads: many(1_001, 'r') },
    /reads: expected at most 1000 state keys, got 1001/,
  ],
  ['too many writes', 'po', items('po'), { writes: many(1_001, 'w') }, /writes: expected at most 1000 state keys/],
  ['too long a key', 'po', items('po'), { writes: ['x'.repeat(257)] }, /writes: expected 1-256 bytes, got 257/],
  ['an unknown dependency', 'po', items('po'), { dependsOn: [987_654] }, /got 987654/],
  ['an unknown key', 'po', items('po'), { dependsOn: ['nobody'] }, /nobody/],
  ['itself', 'po', items('po'), { key: 'me', dependsOn: ['me'] }, /itself/],
  ['a dependency that is no id', 'po', items('po'), { dependsOn: [-1] }, /dependsOn: expected ids/],
  ['dependencies that are no array', 'po', items('po'), { dependsOn: null }, /dependsOn: expected an array.*got null/],
  ['items of two targets', 'po', [...items('po'), ...items('other')], {}, /items of one target/],
  ['a priority', 'po', [{ ...items('po')[0]!, priority: 3 }], {}, /priority: expected no priority in a lane, got 3/],
  ['a time', 'po', [{ ...items('po')[0]!, notBefore: 5 }], {}, /notBefore: expected no notBefore in a lane, got 5/],
] as const)('refused, nothing stored: %s', async (_, service, some, options, message) => {
  const before = await stored();
  await expect(client.submitBatch('edits', service, some as never, options as never)).rejects.toThrow(message);
  expect(await stored()).toBe(before);
});

test('a circle of dependencies is refused with its path, also one through the order of a lane [C18]', async () => {
  const batch = (service: string, key: string, dependsOn: string[]) => ({
    service,
    key,
    dependsOn,
    items: items(service),
  });
  await expect(client.submitBatches('edits', [batch('c-1', 'a', ['b']), batch('c-2', 'b', ['a'])])).rejects.toThrow(
    /cycle, got a depends on b, which depends on a/,
  );
  await expect(client.submitBatches('edits', [batch('c-3', 'x', ['y']), batch('c-3', 'y', [])])).rejects.toThrow(
    /cycle/,
  );
  const fine = await client.submitBatches('edits', [batch('c-4', 'p', ['q']), batch('c-5', 'q', [])]);
  expect(fine).toHaveLength(2);
});

test('a dependency on an invalid batch is refused [C18]', async () => {
  const { batch } = await client.submitBatch('edits', 'inv', items('inv'));
  await database.pool.query('update lane_batch set status = 11 where batch_id = $1', [batch]);
  await expect(client.submitBatch('edits', 'po-2', items('po-2'), { dependsOn: [batch] })).rejects.toThrow(
    /invalid and will never be applied/,
  );
});

test('maxQueued of a target counts its own tasks, not those of another target of its lane', async () => {
  await client.submit('bounded', items('one-lane/a', 2));
  expect(await client.submit('bounded', items('one-lane/b'))).toMatchObject({ accepted: 1 });
  await expect(client.submit('bounded', items('one-lane/a'))).rejects.toMatchObject({
    ...{ code: 'BACKLOGGED', scope: 'target "one-lane/a" of handler "bounded"', depth: 2, limit: 2 },
  });
});

test('after a submit in the caller’s transaction, a ring of its targets wakes the queuer', async () => {
  const tx = await database.pool.connect();
  await tx.query('begin');
  const { targetIds } = await client.submit('named', items('rung'), { tx });
  await tx.query('commit');
  tx.release();
  await database.pool.query('update queuer set state = 0, wake_at = null, woken_at = null');
  await client.ring(targetIds);
  expect((await database.pool.query('select state from queuer where woken_at is not null')).rows).toEqual([
    { state: 1 },
  ]);
});

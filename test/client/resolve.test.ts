import { TASK_STATES } from '../../workflows/planning/states';
import { settleSucceeded } from '../../postgres/calls/settle';
import type { Shop } from './shop';
import { broken, cut, endAlone, items, openShop, statesOf } from './shop';

/** @slow */

let shop: Shop;
beforeEach(async () => {
  shop = await openShop({ distinctBy: (item) => item.key ?? `own ${item.note ?? ''}` });
});
afterEach(async () => {
  const found = await broken(shop.client);
  await shop.stop();
  expect(found).toEqual({});
});

const hold = (...ids: string[]): Promise<unknown> =>
  shop.pool.query({
    text: 'insert into busy_key (target_id, key, seq) select target_id, key, seq from task where id = any($1)',
    values: [ids],
  });
const keysHeld = async (): Promise<number> => (await shop.pool.query({ text: 'select from busy_key' })).rowCount!;

/**
 * Parked as a claim and a lost call leave them: keys held, the busy target waits, the recipients
 * told of `unknown`.
 */
const park = async (...ids: string[]): Promise<number> => {
  const told = { workflowId: 'w-1' };
  await shop.client.submit(
    'items',
    ids.map((id) => ({ id, payload: { to: 'se', note: id }, callback: told })),
  );
  await hold(...ids);
  const batch = await cut(shop.pool, ids, {
    state: TASK_STATES.unknown,
    attempt: 1,
    error: 'timed out',
    results: [[0, 'of an answer that broke off']],
  });
  await shop.pool.query({
    text: `insert into notification (batch_id, attempt, recipient_id, body, next_at) select $1, 1, id, '{}', clock() from recipient`,
    values: [batch],
  });
  await shop.pool.query({ text: 'update target set busy = true, due_at = null' });
  return batch;
};
const notifications = async (): Promise<unknown[]> =>
  (
    await shop.pool.query<{ body: unknown }>({ text: `select body from notification where body <> '{}' order by id` })
  ).rows.map((row) => row.body);

test('a parked batch as succeeded, with a value for each; keys free, target released, recipients told [H3]', async () => {
  const batch = await park('a', 'b', 'c');
  expect(await shop.client.resolve({ batch }, { as: 'succeeded', result: { seen: 'in their log' } })).toEqual({
    resolved: 3,
  });
  const tasks = await shop.client.getTasks(['a', 'b', 'c']);
  expect(tasks.map((task) => [task.state, task.result, task.error])).toEqual(
    Array(3).fill(['succeeded', { seen: 'in their log' }, null]),
  );
  expect(await shop.client.batch(batch)).toMatchObject({
    state: 'succeeded',
    attempts: 2,
    attemptBy: 'resolve',
    error: null,
    resultPages: 1,
  });
  expect(await keysHeld()).toBe(0);
  expect(await shop.client.targets('items')).toMatchObject([{ key: 'se', busy: false, unknown: 0 }]);
  const end = { state: 'succeeded' };
  expect(await notifications()).toEqual([
    {
      handler: 'items',
      target: 'se',
      batch,
      tasks: [
        { id: 'a', ...end },
        { id: 'b', ...end },
        { id: 'c', ...end },
      ],
    },
  ]);
});

test('without a value none is shown, not even that of an answer that broke off [H3]', async () => {
  const batch = await park('a', 'b');
  await shop.client.resolve({ batch }, { as: 'succeeded' });
  expect((await shop.client.getTask('a'))!).not.toHaveProperty('result');
  expect(await shop.client.batch(batch)).toMatchObject({ resultPages: 0 });
});

test('values of a large batch are in pages of at most 1,000 members or 1 MB [H8]', async () => {
  const ids = Array.from({ length: 2_100 }, (_, i) => `m${i}`);
  const many = await park(...ids);
  await shop.client.resolve({ batch: many }, { as: 'succeeded', result: 1 });
  expect(await shop.client.batch(many, { members: 0 })).toMatchObject({ resultPages: 3, members: [] });
  expect((await shop.client.getTask('m2099'))!.result).toBe(1);
  const few = await park('x', 'y', 'z');
  await shop.client.resolve({ batch: few }, { as: 'succeeded', result: 'v'.repeat(400_000) });
  expect(await shop.client.batch(few)).toMatchObject({ resultPages: 2 });
});

test('tasks are resolved as failed, with a reason [H3]', async () => {
  const batch = await park('a', 'b');
  await shop.client.resolve({ batch }, { as: 'failed', error: 'they never got it' });
  expect(await statesOf(shop.client, 'a', 'b')).toEqual(['a failed 1', 'b failed 1']);
  expect(await shop.client.getTask('a')).toMatchObject({ error: 'they never got it' });
  expect(await keysHeld()).toBe(0);
  expect(await notifications()).toMatchObject([
    { tasks: [{ id: 'a', state: 'failed', error: 'they never got it' }, { id: 'b' }] },
  ]);
});

test('as created: sent again in the old order, with the attempts they have had; keys stay theirs, nobody is told [H3]', async () => {
  const batch = await park('a', 'b');
  expect(await shop.client.resolve({ batch }, { as: 'created' })).toEqual({ resolved: 2 });
  expect(await statesOf(shop.client, 'a', 'b')).toEqual(['a created 1', 'b created 1']);
  expect(await shop.client.batch(batch)).toMatchObject({ state: 'dissolved', left: 2 });
  expect(await keysHeld()).toBe(2);
  expect(await notifications()).toEqual([]);
  const { dueInMs, busy } = (await shop.client.targets('items'))[0]!;
  expect(busy).toBe(false);
  expect(dueInMs).not.toBeNull();
});

test('some tasks of parked batches, each way; the rest stays parked [H3]', async () => {
  const one = await park('a', 'b', 'c', 'd');
  const two = await park('x');
  expect(await shop.client.resolve({ tasks: ['a', 'x'] }, { as: 'succeeded', result: [1] })).toEqual({ resolved: 2 });
  expect(await shop.client.resolve({ tasks: ['c'] }, { as: 'failed' })).toEqual({ resolved: 1 });
  expect(await shop.client.resolve({ tasks: ['d'] }, { as: 'created' })).toEqual({ resolved: 1 });
  expect(await statesOf(shop.client, 'a', 'b', 'c', 'd', 'x')).toEqual([
    'a succeeded 1',
    'b unknown 1',
    'c failed 1',
    'd created 1',
    'x succeeded 1',
  ]);
  expect((await shop.client.getTask('x'))!.result).toEqual([1]);
  expect((await shop.client.getTask('c'))!.error).toBe('resolved as failed by hand');
  expect(await shop.client.batch(one)).toMatchObject({ state: 'unknown', n: 4, left: 3 });
  expect(await shop.client.batch(two)).toMatchObject({ state: 'dissolved', left: 1 });
  expect(await keysHeld()).toBe(2); // b, and d in the queue
  expect(await notifications()).toMatchObject([
    { batch: one, tasks: [{ id: 'a' }] },
    { batch: two, tasks: [{ id: 'x' }] },
    { batch: one, tasks: [{ id: 'c' }] },
  ]);
});

test('fencing: a late answer comes before a verdict or not at all', async () => {
  const batch = await park('a', 'b');
  await shop.client.resolve({ batch }, { as: 'failed' });
  expect(await settleSucceeded(shop.pool, [{ id: batch, attempt: 1, counts: true }], [], [])).toEqual(new Map());
  const other = await park('x', 'y');
  await shop.client.resolve({ tasks: ['x'] }, { as: 'failed' });
  expect(await settleSucceeded(shop.pool, [{ id: other, attempt: 1, counts: true }], [], [])).toEqual(new Map());
  const third = await park('p');
  await settleSucceeded(shop.pool, [{ id: third, attempt: 1, counts: false }], [], []); // its call was counted when it was parked
  await shop.pool.query({
    text: 'delete from busy_key k using member m where m.batch_id = $1 and k.seq = m.seq',
    values: [third],
  });
  await expect(shop.client.resolve({ batch: third }, { as: 'failed' })).rejects.toThrow(
    `batch ${third}: expected state unknown (parked), got succeeded.`,
  );
});

test('what is not parked or not there is refused, and nothing of the call is written', async () => {
  const batch = await park('a', 'b');
  await shop.client.submit('items', items('no', 'fresh', 'gone'));
  await cut(shop.pool, ['gone'], { state: 4 });
  const open = await cut(shop.pool, ['fresh'], { state: 4 });
  await expect(shop.client.resolve({ batch: open }, { as: 'failed' })).rejects.toMatchObject({ code: 'NOT_UNKNOWN' });
  await expect(shop.client.resolve({ batch: 999 }, { as: 'failed' })).rejects.toThrow('Batch "999" not found.');
  await expect(shop.client.resolve({ tasks: ['a', 'gone'] }, { as: 'failed' })).rejects.toThrow(
    'task "gone": expected state unknown (parked), got succeeded. Nothing was changed; only an unknown outcome can be resolved.',
  );
  await expect(shop.client.resolve({ tasks: ['a', 'nobody'] }, { as: 'failed' })).rejects.toThrow(
    'Task "nobody" not found. Nothing was changed.',
  );
  expect(await statesOf(shop.client, 'a', 'b')).toEqual(['a unknown 1', 'b unknown 1']);
  expect(await shop.client.batch(batch)).toMatchObject({ state: 'unknown', left: 0 });
});

test('bad verdicts are refused', async () => {
  const resolve = (what: object, verdict: object): Promise<unknown> => shop.client.resolve(what, verdict as never);
  await expect(resolve({}, { as: 'failed' })).rejects.toThrow('what: expected either {batch} or {tasks}, got {}.');
  await expect(resolve({ batch: 1, tasks: ['a'] }, { as: 'failed' })).rejects.toThrow(
    'what: expected either {batch} or {tasks}, got {"batch":1,"tasks":["a"]}.',
  );
  await expect(resolve({ batch: 1.5 }, { as: 'failed' })).rejects.toThrow(
    /^batch: expected a whole number from 1 to .*, got 1.5\.$/,
  );
  await expect(resolve({ batch: 1 }, { as: 'done' })).rejects.toThrow(
    'as: expected one of "succeeded", "failed", "created", got "done".',
  );
  await expect(resolve({ batch: 1 }, { as: 'failed', result: 1 })).rejects.toThrow(
    'result: expected no result with as: "failed" (only with "succeeded"), got 1.',
  );
  await expect(resolve({ batch: 1 }, { as: 'created', error: 'x' })).rejects.toThrow(
    'error: expected no error with as: "created" (only with "failed"), got "x".',
  );
  await expect(resolve({ batch: 1 }, { as: 'succeeded', result: () => 1 })).rejects.toThrow(
    'result: expected a JSON value, got "function".',
  );
  const many = Array.from({ length: 10_001 }, (_, i) => String(i));
  await expect(resolve({ tasks: many }, { as: 'failed' })).rejects.toThrow(
    'tasks: expected at most 10000 ids in one call, got 10001.',
  );
});

test('a member that left before is not resolved with its batch', async () => {
  const batch = await park('a', 'b');
  await endAlone(shop.pool, 'a', TASK_STATES.failed, 'alone');
  await shop.pool.query({ text: `delete from busy_key k using task t where t.id = 'a' and k.seq = t.seq` });
  expect(await shop.client.resolve({ batch }, { as: 'succeeded', result: 'ok' })).toEqual({ resolved: 1 });
  expect(await statesOf(shop.client, 'a', 'b')).toEqual(['a failed 1', 'b succeeded 1']);
  expect((await shop.client.getTask('b'))!.result).toBe('ok');
});

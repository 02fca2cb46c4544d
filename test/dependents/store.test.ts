import { finishBatch, settleSucceeded } from '../../postgres/calls/settle';
import { inTransaction } from '../../postgres/pool';
import type { Shop } from '../client/shop';
import { broken, cut, openShop, placesOf, statesOf } from '../client/shop';
import { SteppedClock } from '../helpers/clock';
import { problemsOf, succeed, task, workedOff } from './world';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ maxQueued: { perTarget: 5_000 } });
});
afterAll(async () => {
  expect(await broken(shop.client)).toEqual({});
  await shop.stop();
});

test('a task is held until all that it depends on have succeeded, whatever their order in the call', async () => {
  await shop.client.submit('items', [task('last', ['first', 'second']), task('first'), task('second')]);
  expect(await placesOf(shop.pool, 'last')).toEqual(['held']);
  await succeed(shop, 'first');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'last')).toEqual(['held']);
  await succeed(shop, 'second');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'last')).toEqual(['queue']);
});

test('a settlement says whether tasks waited for its members', async () => {
  await shop.client.submit('items', [task('plain'), task('needed'), task('waits', ['needed'])]);
  const plain = await cut(shop.pool, ['plain']);
  const needed = await cut(shop.pool, ['needed']);
  const settled = await settleSucceeded(
    shop.pool,
    [
      { id: needed, attempt: 0, counts: true },
      { id: plain, attempt: 0, counts: true },
    ],
    [],
    [],
  );
  expect(settled).toEqual(
    new Map([
      [plain, false],
      [needed, true],
    ]),
  );
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'waits')).toEqual(['queue']);
});

test('dependencies that have ended count at once, one that failed too', async () => {
  await shop.client.submit('items', [task('good'), task('bad')]);
  await succeed(shop, 'good');
  const batch = await cut(shop.pool, ['bad'], { attempt: 1 });
  await inTransaction(shop.pool, (client) => finishBatch(client, batch, 5, true, 0, 'no such item'));
  await shop.client.submit('items', [
    task('after good', ['good']),
    task('after both', ['good', 'bad']),
    task('anyway', ['good', 'bad'], { onDependencyFailure: 'run' }),
  ]);
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'after good')).toEqual(['queue']);
  expect(await placesOf(shop.pool, 'anyway')).toEqual(['queue']);
  expect(await shop.client.getTask('after both')).toMatchObject({
    state: 'failed',
    attempts: 0,
    batch: null,
    error: 'dependency "bad" failed',
  });
});

test('what depends on a cancelled task fails, and what depends on that', async () => {
  await shop.client.submit('items', [
    task('root'),
    task('child', ['root']),
    task('grandchild', ['child']),
    task('stays', ['child', 'root'], { onDependencyFailure: 'run' }),
  ]);
  expect(await shop.client.cancel('root')).toMatchObject({ cancelled: ['root'] });
  await workedOff(shop);
  expect(await statesOf(shop.client, 'child', 'grandchild', 'stays')).toEqual([
    'child failed 0',
    'grandchild failed 0',
    'stays created 0',
  ]);
  expect((await shop.client.getTask('child'))!.error).toBe('dependency "root" was cancelled');
  expect((await shop.client.getTask('grandchild'))!.error).toBe('dependency "child" failed');
  expect(await placesOf(shop.pool, 'stays')).toEqual(['queue']);
});

test('a held task can be cancelled, and fails what depends on it', async () => {
  await shop.client.submit('items', [task('open'), task('held', ['open']), task('behind', ['held'])]);
  expect(await shop.client.cancel('held')).toMatchObject({ cancelled: ['held'] });
  await workedOff(shop);
  expect(await statesOf(shop.client, 'open', 'held', 'behind')).toEqual([
    'open created 0',
    'held cancelled 0',
    'behind failed 0',
  ]);
  await succeed(shop, 'open');
  await workedOff(shop);
  expect(await statesOf(shop.client, 'held')).toEqual(['held cancelled 0']);
});

test('a released task waits for its own notBefore, and goes with the priority it was given', async () => {
  await shop.client.submit('items', [
    task('now'),
    task('tomorrow', ['now'], { notBefore: '2099-01-01' }),
    task('urgent', ['now'], { priority: -5 }),
  ]);
  await succeed(shop, 'now');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'tomorrow')).toEqual(['delayed']);
  expect(await shop.client.getTask('tomorrow')).toMatchObject({ notBefore: '2099-01-01T00:00:00.000Z' });
  expect((await shop.pool.query('select from queue where priority = -5')).rowCount).toBe(1);
});

test('a task that is released at the very time of its notBefore is queued', async () => {
  const still = await openShop();
  try {
    const clock = await SteppedClock.create(still.pool);
    const notBefore = (await clock.unixMs()) + 60_000;
    await still.client.submit('items', [task('first'), task('then', ['first'], { notBefore })]);
    await succeed(still, 'first');
    await clock.set(notBefore);
    await workedOff(still);
    expect(await placesOf(still.pool, 'then')).toEqual(['queue']);
  } finally {
    await still.stop();
  }
});

test('a flush leaves a held task alone, and its linger counts from its release', async () => {
  const still = await openShop();
  try {
    const clock = await SteppedClock.create(still.pool);
    await still.client.submit('items', [task('first'), task('then', ['first'])]);
    await still.client.flush('items');
    expect(await placesOf(still.pool, 'then')).toEqual(['held']);
    const releasedAt = (await clock.unixMs()) + 60_000;
    await clock.set(releasedAt);
    await succeed(still, 'first');
    await workedOff(still);
    const { rows } = await still.pool.query<{ since: number }>(`
select (extract(epoch from q.ready_at) * 1000)::float8 as since
from queue q join task t on t.seq = q.seq
where t.id = 'then'`);
    expect(rows[0]!.since).toBeGreaterThanOrEqual(releasedAt);
  } finally {
    await still.stop();
  }
});

test('the same task again is the same task, whatever it depends on', async () => {
  await shop.client.submit('items', [task('base'), task('again', ['base'])]);
  expect(await shop.client.submit('items', [task('again', ['base']), task('again too', ['again'])])).toMatchObject({
    accepted: 1,
    repeated: 1,
  });
  expect(await placesOf(shop.pool, 'again too')).toEqual(['held']);
});

test('held tasks count for maxQueued', async () => {
  const small = await openShop({ maxQueued: { perTarget: 3 } });
  try {
    await small.client.submit('items', [task('1'), task('2', ['1']), task('3', ['2'])]);
    await expect(small.client.submit('items', task('4'))).rejects.toMatchObject({ code: 'BACKLOGGED' });
  } finally {
    await small.stop();
  }
});

test('a chain of 3,000 fails from one end to the other in steps of bounded size', async () => {
  const chain = Array.from({ length: 3_000 }, (_, i) => task(`c${i}`, i === 0 ? [] : [`c${i - 1}`], {}));
  await shop.client.submit('items', [...chain].reverse());
  await shop.client.cancel('c0');
  await workedOff(shop);
  const { rows } = await shop.pool.query<{ n: number; times: number; error: string }>(`
select count(*)::int as n, count(distinct o.at)::int as times, max(o.error) filter (where k.id = 'c2999') as error
from outcome o join task k using (seq) where k.id ~ '^c[0-9]' and o.state = 5`);
  expect(rows[0]).toMatchObject({ n: 2_999, error: 'dependency "c2998" failed' });
  expect(rows[0]!.times).toBeGreaterThanOrEqual(3);
});

const fail = async (id: string): Promise<void> => {
  const batch = await cut(shop.pool, [id], { attempt: 1 });
  await inTransaction(shop.pool, (client) => finishBatch(client, batch, 5, true, 0, 'no'));
  await workedOff(shop);
};

test('a redrive sends a failed dependency again, and holds those that failed with it until it has succeeded', async () => {
  await shop.client.submit('items', [task('r1'), task('r2', ['r1']), task('r3', ['r2', 'r1'])]);
  await fail('r1');
  expect(await statesOf(shop.client, 'r2', 'r3')).toEqual(['r2 failed 0', 'r3 failed 0']);
  // Of itself it changes nothing while what it depends on has failed.
  expect(await shop.client.redrive('items', { only: 'failed', ids: ['r2'] })).toEqual({ redriven: 1 });
  await workedOff(shop);
  expect(await statesOf(shop.client, 'r2', 'r3')).toEqual(['r2 failed 0', 'r3 failed 0']);
  expect(await shop.client.redrive('items', { only: 'failed', ids: ['r3', 'r2', 'r1'] })).toEqual({ redriven: 3 });
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'r1')).toEqual(['queue']);
  expect(await shop.client.getTask('r3')).toMatchObject({
    dependsOn: ['r2', 'r1'],
    onDependencyFailure: 'fail',
    waitsFor: ['r2', 'r1'],
  });
  await succeed(shop, 'r1');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'r2')).toEqual(['queue']);
  expect((await shop.client.getTask('r3'))!.waitsFor).toEqual(['r2']);
  await succeed(shop, 'r2');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'r3')).toEqual(['queue']);
});

test('a redrive of a failed dependent forgets of no other task that what it depends on has ended', async () => {
  await shop.client.submit('items', [
    ...[task('lost'), task('with it', ['lost'])],
    ...[task('other'), task('last'), task('runs', ['other', 'last'], { onDependencyFailure: 'run' })],
  ]);
  for (const id of ['lost', 'other']) await fail(id);
  expect(await shop.client.redrive('items', { only: 'failed', ids: ['with it'] })).toEqual({ redriven: 1 });
  await succeed(shop, 'last');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'runs')).toEqual(['queue']);
});

test('explain, status and the task say what a held task waits for', async () => {
  const before = (await shop.client.status('items'))[0]!.held;
  const ids = Array.from({ length: 7 }, (_, i) => `e${i}`);
  await shop.client.submit('items', [...ids.map((id) => task(id)), task('asks', ids), task('one', ['e0'])]);
  await succeed(shop, 'e1');
  await workedOff(shop);
  expect(await shop.client.explain('asks')).toMatchObject({
    state: 'created',
    waitsFor: 'dependency',
    nextStepInMs: null,
    text: 'It waits for 6 of 7 tasks to end: "e0", "e2", "e3", "e4", "e5" and 1 more.',
    facts: { held: { dependencies: 7, open: 6 } },
  });
  expect((await shop.client.explain('one')).text).toBe('It waits for a task to end: "e0".');
  expect(await shop.client.getTask('asks')).toMatchObject({
    dependsOn: ids,
    waitsFor: ids.filter((id) => id !== 'e1'),
  });
  expect((await shop.client.status('items'))[0]).toMatchObject({ held: before + 2, identityHolds: true });
  expect(await shop.client.getTask('e0')).not.toHaveProperty('dependsOn');
});

test('who asked to be told of a task hears that it failed with a dependency', async () => {
  await shop.client.submit('items', [
    task('heard'),
    task('told', ['heard'], { callback: { workflowId: 'a-workflow' } }),
  ]);
  await shop.client.cancel('heard');
  await workedOff(shop);
  const { rows } = await shop.pool.query<{ body: object }>(
    `select n.body from notification n join recipient r on r.id = n.recipient_id where r.address->>'workflowId' = 'a-workflow'`,
  );
  expect(rows.map(({ body }) => body)).toEqual([
    {
      handler: 'items',
      target: 'se',
      batch: null,
      tasks: [{ id: 'told', state: 'failed', error: 'dependency "heard" was cancelled' }],
    },
  ]);
});

test('the retention of a dependency neither frees nor stops what still waits for others', async () => {
  await shop.client.submit('items', [task('gone'), task('slow'), task('outlives', ['gone', 'slow'])]);
  await succeed(shop, 'gone');
  await workedOff(shop);
  const text = `delete from task where id = 'gone'`;
  await shop.pool.query({ text: `delete from member where seq = (select seq from task where id = 'gone')` });
  await shop.pool.query({ text });
  await shop.pool.query({
    text: `delete from batch b where not exists (select from member m where m.batch_id = b.id)`,
  });
  expect((await shop.client.getTask('outlives'))!.waitsFor).toEqual(['slow']);
  expect(await problemsOf(shop, [task('too late', ['gone'])])).toMatchObject([{ field: 'dependsOn.0' }]);
  await succeed(shop, 'slow');
  await workedOff(shop);
  expect(await placesOf(shop.pool, 'outlives')).toEqual(['queue']);
});

import { TASK_STATES } from '../../workflows/planning/states';
import type { Shop } from './shop';
import { cut, endAlone, itemHandler, items, openShop } from './shop';
import { createClient } from '../../client';

let shop: Shop;
let batches: Record<'open' | 'called' | 'parked' | 'done', number>;
beforeAll(async () => {
  shop = await openShop();
  await shop.client.submit('items', [
    ...items(
      'se',
      'queued1',
      'queued2',
      'open1',
      'open2',
      'called1',
      'parked1',
      'done1',
      'done2',
      'dead1',
      'failed1',
      'cancelled1',
    ),
    { id: 'delayed1', payload: { to: 'no' }, notBefore: Date.now() + 3_600_000 },
  ]);
  batches = {
    open: await cut(shop.pool, ['open1', 'open2']),
    called: await cut(shop.pool, ['called1'], { attempt: 1 }),
    parked: await cut(shop.pool, ['parked1'], { state: TASK_STATES.unknown, error: 'timed out' }),
    done: await cut(shop.pool, ['done1', 'done2', 'dead1', 'failed1'], {
      state: 4,
      results: [
        [0, 1],
        [1, 2],
      ],
    }),
  };
  await shop.pool.query({
    text: `update batch set attempt_until = clock() + interval '30 s' where id = $1`,
    values: [batches.called],
  });
  await endAlone(shop.pool, 'dead1', TASK_STATES.dead, 'gave up');
  await endAlone(shop.pool, 'failed1', TASK_STATES.failed, 'refused');
  await shop.client.cancel('cancelled1');
  await shop.pool.query({ text: `update queue set ready_at = clock() - interval '90 s'` });
});
afterAll(() => shop.stop());

test('status: counts of every state, the identity, what waits longest, calls, leaders, flush reasons', async () => {
  const [status] = await shop.client.status('items');
  expect(status).toMatchObject({
    handler: 'items',
    paused: null,
    holdUntil: null,
    limitsSet: [],
    sharesLimit: null,
    counts: { created: 3, batched: 2, 'in-progress': 1, unknown: 1, succeeded: 2, failed: 1, dead: 1, cancelled: 1 },
    accepted: 12,
    identityHolds: true,
    inFlightCalls: 1,
    leaders: [{ name: '0', state: 'working', epoch: 0, wakeInMs: null }],
    flushReasons: { linger: 4 },
    served: false,
  });
  expect(status!.oldestQueuedMs).toBeGreaterThanOrEqual(90_000);
  expect(status!.oldestQueuedMs).toBeLessThan(150_000);
  expect(status!.leaders[0]!.expiresInMs).toBeGreaterThan(3_000_000);
  expect(status!.flushReasons).toEqual({ linger: 4 });
});

test('status: the identity is counted, not assumed; without `exact` it is not looked at', async () => {
  await shop.pool.query({
    text: `insert into task (seq, created_at, target_id, bytes, id, payload) select 77, clock(), id, 1, 'lost', '{}' from target where key = 'se'`,
  });
  expect((await shop.client.status('items'))[0]).toMatchObject({ accepted: 13, identityHolds: false });
  expect((await shop.client.status('items', { exact: false }))[0]).toMatchObject({ accepted: 12, identityHolds: null });
  await shop.pool.query({ text: 'delete from task where seq = 77' });
  await expect(shop.client.status('items', { exact: 1 as never })).rejects.toThrow(
    'exact: expected true or false, got 1.',
  );
});

test('status: served by a node that is live and not draining', async () => {
  const served = async (): Promise<boolean> => (await shop.client.status('items'))[0]!.served;
  await shop.pool.query({
    text: `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n1', 'q', '{other,items}', clock(), clock() - interval '29 s')`,
  });
  expect(await served()).toBe(true);
  await shop.pool.query({ text: 'update node set draining = true' });
  expect(await served()).toBe(false);
  await shop.pool.query({ text: `update node set draining = false, seen_at = clock() - interval '31 s'` });
  expect(await served()).toBe(false);
  await shop.pool.query({ text: 'delete from node' });
});

test('status: all handlers, in the order of their names, each with its own', async () => {
  const client = createClient({
    databaseUrl: shop.database.url,
    pool: shop.pool,
    handlers: [itemHandler({ name: 'another' })],
    temporal: { client: await shop.client.temporal() },
  });
  await client.submit('another', items('se', 'of-another'));
  const all = await shop.client.status();
  expect(all.map(({ handler, accepted, identityHolds }) => [handler, accepted, identityHolds])).toEqual([
    ['another', 1, true],
    ['items', 12, true],
  ]);
  expect(all[0]!.flushReasons).toEqual({});
});

test('targets: counts, what holds them, pages in the order of the keys', async () => {
  const [no, se] = await shop.client.targets('items');
  expect(no).toEqual({
    key: 'no',
    leader: '0',
    epoch: 0,
    paused: null,
    busy: false,
    holdInMs: null,
    dueInMs: expect.any(Number) as number,
    queued: 0,
    delayed: 1,
    inFlight: 0,
    unknown: 0,
    overrides: null,
    lastFlushReason: null,
    limitsSet: [],
  });
  expect(se).toMatchObject({ key: 'se', queued: 2, delayed: 0, inFlight: 3, unknown: 1, lastFlushReason: 'linger' });
  await shop.pool.query({
    text: `update target set hold_until = clock() + interval '7 s', due_at = clock() - interval '1 s' where key = 'se'`,
  });
  const held = (await shop.client.targets('items', { dueOnly: true }))[0]!;
  expect(held.key).toBe('se');
  expect(held.holdInMs).toBeGreaterThan(5_000);
  expect(held.dueInMs).toBeLessThanOrEqual(-1_000);
  expect((await shop.client.targets('items', { limit: 1 })).map((target) => target.key)).toEqual(['no']);
  expect((await shop.client.targets('items', { limit: 1, after: 'no' })).map((target) => target.key)).toEqual(['se']);
  expect(await shop.client.targets('items', { after: 'se' })).toEqual([]);
  await expect(shop.client.targets('items', { limit: 0 })).rejects.toThrow(
    'limit: expected a whole number from 1 to 1000, got 0.',
  );
  await expect(shop.client.targets('items', { after: '' })).rejects.toThrow(/^after: expected a non-empty string/);
});

const keyOf = (id: number): string =>
  expect.stringMatching(new RegExp(`^muster-[0-9a-f]{12}-${id}-\\d{16}$`)) as string;

test('batch: all of it by name, members with the state each is in now', async () => {
  expect(await shop.client.batch(batches.done)).toEqual({
    id: batches.done,
    handler: 'items',
    target: 'se',
    leader: '0',
    epoch: 1,
    turn: 1,
    state: 'succeeded',
    reason: 'linger',
    n: 4,
    left: 2,
    bytes: expect.any(Number) as number,
    weight: 4,
    attempts: 1,
    counted: 1,
    cancellation: null,
    stack: null,
    attemptBy: null,
    attemptUntil: null,
    dispatch: null,
    refusals: 0,
    retryAt: null,
    reference: null,
    pollAt: null,
    pollUntil: null,
    readAt: null,
    parent: null,
    children: [],
    depth: 0,
    refused: false,
    idempotencyKey: keyOf(batches.done),
    error: null,
    resultPages: 2,
    createdAt: expect.any(String) as string,
    startedAt: expect.any(String) as string,
    finishedAt: expect.any(String) as string,
    members: [
      { id: 'done1', state: 'succeeded' },
      { id: 'done2', state: 'succeeded' },
      { id: 'dead1', state: 'dead' },
      { id: 'failed1', state: 'failed' },
    ],
  });
  expect(await shop.client.batch(batches.parked)).toMatchObject({
    state: 'unknown',
    error: 'timed out',
    members: [{ id: 'parked1', state: 'unknown' }],
  });
  expect((await shop.client.batch(batches.done, { members: 1 }))!.members).toEqual([
    { id: 'done1', state: 'succeeded' },
  ]);
});

test('batch: where it was split from and into', async () => {
  await shop.pool.query({
    text: 'update batch set parent_id = $1, depth = 1, sent_as = $1 where id = $2',
    values: [batches.done, batches.open],
  });
  expect(await shop.client.batch(batches.done)).toMatchObject({ children: [batches.open] });
  expect(await shop.client.batch(batches.open)).toMatchObject({
    parent: batches.done,
    depth: 1,
    idempotencyKey: keyOf(batches.done),
  });
});

test('batch: one that is not there, and bad arguments', async () => {
  expect(await shop.client.batch(999_999)).toBeNull();
  await expect(shop.client.batch('1' as never)).rejects.toThrow(/^id: expected a whole number from 1 to .* got "1"\.$/);
  await expect(shop.client.batch(1, { members: -1 })).rejects.toThrow(
    'members: expected a whole number from 0 to 100000, got -1.',
  );
});

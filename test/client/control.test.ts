import { createClient } from '../../client';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { eventually } from '../helpers/eventually';
import type { Shop } from './shop';
import { broken, items, openShop } from './shop';

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({ limits: { maxItems: 10, minItems: 2 } });
  await shop.client.submit('items', [...items('se', 's1', 's2'), ...items('no', 'n1')]);
});
afterAll(() => shop.stop());

const dueInMs = async (key: string): Promise<number> => {
  const target = (await shop.client.targets('items')).find((one) => one.key === key);
  return target!.dueInMs!;
};

test('flush makes one target due now, then all of them, and nothing when nothing waits [G6]', async () => {
  expect(await dueInMs('se')).toBeGreaterThan(30_000);
  expect(await shop.client.flush('items', 'se')).toEqual({ targets: 1, tasks: 2 });
  expect(await dueInMs('se')).toBeLessThanOrEqual(0);
  expect(await dueInMs('no')).toBeGreaterThan(30_000);
  expect(await shop.client.flush('items')).toEqual({ targets: 2, tasks: 3 });
  expect(await dueInMs('no')).toBeLessThanOrEqual(0);
  await shop.client.cancel(['s1', 's2', 'n1']);
  expect(await shop.client.flush('items')).toEqual({ targets: 0, tasks: 0 });
  expect(await shop.client.flush('items', 'se')).toEqual({ targets: 0, tasks: 0 });
});

test('a flush leaves tasks that wait for their time alone [G6]', async () => {
  await shop.client.submit('items', { id: 'later', payload: { to: 'fi' }, notBefore: Date.now() + 3_600_000 });
  expect(await shop.client.flush('items', 'fi')).toEqual({ targets: 0, tasks: 0 });
});

test('pause and resume of a handler: who, since when, why; pausing again keeps the first time', async () => {
  expect(await shop.client.pause('items', { reason: 'invoice dispute' })).toEqual({ paused: true });
  const [first] = await shop.client.status('items');
  expect(first!.paused).toMatchObject({ reason: 'invoice dispute' });
  await shop.client.pause('items');
  const [again] = await shop.client.status('items');
  expect(again!.paused).toEqual({ since: first!.paused!.since, reason: 'paused by hand' });
  await shop.pool.query({ text: `update handler set hold_until = clock() + interval '1 hour'` });
  expect(await shop.client.resume('items')).toEqual({ resumed: true });
  expect((await shop.client.status('items'))[0]).toMatchObject({ paused: null, holdUntil: null });
});

test('pause of one target leaves the others alone; resume ends its hold', async () => {
  await shop.client.pause('items', { target: 'se', reason: 'invoice dispute' });
  const targets = () => shop.client.targets('items');
  const paused = async (): Promise<string[]> =>
    (await targets()).filter((one) => one.paused !== null).map((one) => one.key);
  expect(await paused()).toEqual(['se']);
  const first = (await targets()).find((one) => one.key === 'se')!.paused!;
  expect(first).toEqual({ since: expect.any(String) as string, reason: 'invoice dispute' });
  await shop.client.pause('items', { target: 'se' });
  expect((await targets()).find((one) => one.key === 'se')!.paused).toEqual({
    since: first.since,
    reason: 'paused by hand',
  });
  await shop.pool.query({ text: `update target set hold_until = clock() + interval '1 hour' where key = 'se'` });
  await shop.client.resume('items', { target: 'se' });
  expect(await paused()).toEqual([]);
  expect((await shop.client.targets('items')).find((one) => one.key === 'se')).toMatchObject({ holdInMs: null });
});

test('ring: after a resume what waited is due again and its idle leader is written as woken', async () => {
  await shop.client.submit('items', items('dk', 'd1'));
  await shop.client.pause('items');
  // A leader that looked while all was paused went idle; a target that was busy then lost its time.
  await shop.pool.query({ text: 'update leader set state = 0, wake_at = null, expires_at = null' });
  await shop.pool.query({ text: `update target set due_at = null where key = 'dk'` });
  await shop.client.resume('items');
  const [status] = await shop.client.status('items');
  expect(status!.leaders).toMatchObject([{ name: '0', state: 'working' }]);
  expect(await dueInMs('dk')).toBeGreaterThan(0);
  // Its wake may be lost: the sweeper repeats it as soon as one of the ring's (G14).
  const { rows } = await shop.pool.query<{ left: number }>(
    `select extract(epoch from expires_at - clock())::float8 * 1000 as left from leader`,
  );
  expect(rows[0]!.left).toBeLessThanOrEqual(WAKE_LEASE_MS);
});

test('settings of one target, replaced as a whole, removed by null [G5]', async () => {
  const overrides = async (): Promise<unknown> =>
    (await shop.client.targets('items')).find((one) => one.key === 'dk')!.overrides;
  await shop.client.setTarget('items', 'dk', { lingerMs: 0, maxItems: 3 });
  expect(await overrides()).toEqual({ lingerMs: 0, maxItems: 3 });
  expect(await dueInMs('dk')).toBeLessThanOrEqual(0); // and it was rung
  await shop.client.setTarget('items', 'dk', { quietPeriodMs: 50, minItems: 3 });
  expect(await overrides()).toEqual({ quietPeriodMs: 50, minItems: 3 });
  await shop.client.setTarget('items', 'dk', null);
  expect(await overrides()).toBeNull();
  await shop.client.setTarget('items', 'dk', { lingerMs: undefined });
  expect(await overrides()).toBeNull();
});

test('bad settings: every one is named, with what was expected and what came [G5]', async () => {
  const set = (overrides: object): Promise<void> => shop.client.setTarget('items', 'dk', overrides);
  await expect(set({ lingerMs: -1, maxItems: '7' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message:
      'overrides.lingerMs: expected a whole number of milliseconds from 0 to 2,592,000,000, got -1\n' +
      'overrides.maxItems: expected a whole number of tasks from 1 to 100,000, got "7"',
  });
  await expect(set({ linger: 5 })).rejects.toThrow(/^overrides\.linger: unknown setting/);
  await expect(set(7 as never)).rejects.toThrow('overrides: expected an object, got 7');
  await expect(set({ minItems: 11 })).rejects.toThrow('overrides.minItems: expected at most maxItems (10), got 11.');
  expect((await shop.client.targets('items')).find((one) => one.key === 'dk')!.overrides).toBeNull();
});

test.each([
  ['flush', () => shop.client.flush('nope'), () => shop.client.flush('items', 'xx')],
  ['pause', () => shop.client.pause('nope'), () => shop.client.pause('items', { target: 'xx' })],
  ['resume', () => shop.client.resume('nope'), () => shop.client.resume('items', { target: 'xx' })],
  ['setTarget', () => shop.client.setTarget('nope', 'se', null), () => shop.client.setTarget('items', 'xx', null)],
  [
    'redrive',
    () => shop.client.redrive('nope', { only: 'dead' }),
    () => shop.client.redrive('items', { only: 'dead', target: 'xx' }),
  ],
  ['status', () => shop.client.status('nope'), null],
  ['targets', () => shop.client.targets('nope'), null],
] as const)('%s of an unknown handler or target says so', async (_, handler, target) => {
  await expect(handler()).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await expect(handler()).rejects.toThrow(
    'Handler "nope" not found. A handler is known once a worker has started with it or a task was submitted to it.',
  );
  if (target === null) return;
  await expect(target()).rejects.toThrow(
    'Target "xx" of handler "items" not found. A target is known once a task has been submitted for it.',
  );
});

test('bad reasons and names are refused', async () => {
  await expect(shop.client.pause('items', { reason: 'x'.repeat(1_001) })).rejects.toThrow(
    /^reason: expected a text of at most 1000 characters \(without NUL\), got "xxx/,
  );
  await expect(shop.client.pause('items', { reason: 7 as never })).rejects.toThrow(
    /^reason: expected a text .* got 7\.$/,
  );
  await expect(shop.client.flush('')).rejects.toThrow('handler: expected a non-empty string without NUL, got "".');
  await expect(shop.client.flush('items', '')).rejects.toThrow(
    'target: expected a non-empty string without NUL, got "".',
  );
});

test('Temporal down: the verbs write and report the wake that failed, the sweeper will repeat it', async () => {
  const failures: Error[] = [];
  const client = createClient({
    databaseUrl: shop.database.url,
    handlers: [shop.handler],
    temporal: { address: '127.0.0.1:1', connection: { connectTimeout: 500 } },
    onRingFailure: (error) => failures.push(error),
  });
  try {
    await client.pause('items');
    await shop.pool.query({ text: 'update leader set state = 0, wake_at = null, expires_at = null' });
    expect(await client.resume('items')).toEqual({ resumed: true });
    await eventually(() => failures.length > 0); // the wake is behind the verb
    expect(failures[0]).toMatchObject({ code: 'TEMPORAL_UNAVAILABLE' });
    expect((await shop.client.status('items'))[0]!.paused).toBeNull();
  } finally {
    await client.close();
  }
});

test('the store is whole after all this', async () => {
  expect(await broken(shop.client)).toEqual({});
});

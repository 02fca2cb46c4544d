import type { Rate } from '../../handlers';
import { registerHandler } from '../../postgres/grouping/handler';
import type { Shop } from '../client/shop';
import { itemHandler, items, openShop } from '../client/shop';

/** The verbs for limits, on a store where nothing moves but by the test's own hand. */

let shop: Shop;
beforeAll(async () => {
  shop = await openShop({
    concurrency: { perTarget: 4, perHandler: 8 },
    rate: { limit: 5, perMs: 1_000, unit: 'calls' },
    limits: { maxItems: 10, maxWeight: 6, maxWeightInFlight: { perTarget: 50 } },
  });
  await shop.client.submit('items', [...items('se', 's1'), ...items('no', 'n1')]);
});
afterAll(() => shop.stop());

const columns = async (): Promise<Record<string, unknown>> => {
  const { rows } = await shop.pool.query<Record<string, unknown>>(
    'select per_target, per_handler, weight_per_target, weight_per_handler, rates, paces from handler',
  );
  return rows[0]!;
};
const rate = (limit: number): Rate => ({ limit, perMs: 1_000, unit: 'calls' });
const handlerRate = (limit: number) => [{ ...rate(limit), scope: 'handler' }];

test('what is set counts, is shown with who and until when, and is as defined again when it is removed', async () => {
  const set = await shop.client.limits.set(
    'items',
    { concurrency: { perHandler: 2 }, rate: rate(1) },
    { forMs: 60_000 },
  );
  expect(set.changed).toEqual([
    { limit: 'rate', from: handlerRate(5), to: handlerRate(1) },
    { limit: 'concurrency.perHandler', from: 8, to: 2 },
  ]);
  expect(await columns()).toMatchObject({ per_handler: 2, per_target: 4, rates: handlerRate(1) });
  const { limits } = await shop.client.limits.get('items');
  const calls = limits.find(({ limit }) => limit === 'concurrency.perHandler')!;
  expect(calls).toMatchObject({ inForce: 2, defined: 8 });
  expect(calls.set!.by).toMatch(/@/);
  expect(Date.parse(calls.set!.until!) - Date.parse(calls.set!.at)).toBe(60_000);
  expect((await shop.client.status('items'))[0]!.limitsSet).toEqual([
    expect.objectContaining({ limit: 'rate', value: handlerRate(1) }),
    expect.objectContaining({ limit: 'concurrency.perHandler', value: 2, until: calls.set!.until }),
  ]);

  const back = await shop.client.limits.set('items', { rate: null });
  expect(back.changed).toEqual([{ limit: 'rate', from: handlerRate(1), to: handlerRate(5) }]);
  expect((await shop.client.limits.remove('items')).changed).toEqual([
    { limit: 'concurrency.perHandler', from: 2, to: 8 },
  ]);
  expect(await shop.client.limits.list()).toEqual({ limits: [], next: null });
  expect(await columns()).toMatchObject({ per_handler: 8, rates: handlerRate(5) });
});

test('a target has limits of its own; the list has handlers before their targets, in pages', async () => {
  const set = await shop.client.limits.set('items', { concurrency: { perTarget: 1 }, rate: rate(3) }, { target: 'se' });
  expect(set.changed).toEqual([
    { limit: 'rate', from: [], to: [{ ...rate(3), scope: 'target' }] },
    { limit: 'concurrency.perTarget', from: 4, to: 1 },
  ]);
  await shop.client.limits.set('items', { maxWeightInFlight: { perTarget: 9 } }, { target: 'no' });
  await shop.client.limits.set('items', { maxWeightInFlight: { perHandler: 70 } });
  const namesOf = ({ limits }: Awaited<ReturnType<typeof shop.client.limits.list>>) =>
    limits.map(({ target }) => target);
  const first = await shop.client.limits.list({ limit: 2 });
  expect(namesOf(first)).toEqual([null, 'no']);
  expect(namesOf(await shop.client.limits.list({ limit: 2, after: first.next! }))).toEqual(['se']);
  const se = (await shop.client.targets('items')).find(({ key }) => key === 'se')!;
  expect(se.limitsSet.map(({ limit, value }) => [limit, value])).toEqual([
    ['rate', [{ ...rate(3), scope: 'target' }]],
    ['concurrency.perTarget', 1],
  ]);
  for (const target of ['se', 'no']) await shop.client.limits.remove('items', { target });
  await shop.client.limits.remove('items');
  expect((await shop.client.limits.list()).limits).toEqual([]);
});

test('a worker that registers another definition changes what is defined, not what is set', async () => {
  await shop.client.limits.set('items', { concurrency: { perHandler: 3 }, rate: rate(9) });
  const other = itemHandler({ concurrency: { perTarget: 2, perHandler: 20 }, rate: rate(7) });
  await registerHandler(shop.pool, other);
  expect(await columns()).toMatchObject({ per_target: 2, per_handler: 3, rates: handlerRate(9) });
  expect((await shop.client.limits.remove('items')).changed).toEqual([
    { limit: 'rate', from: handlerRate(9), to: handlerRate(7) },
    { limit: 'concurrency.perHandler', from: 3, to: 20 },
  ]);
  await registerHandler(shop.pool, shop.handler);
  expect(await columns()).toMatchObject({ per_target: 4, per_handler: 8, rates: handlerRate(5) });
});

test('the wait of a slow rate is not waited for under a faster one', async () => {
  await shop.client.limits.set('items', { rate: { limit: 1, perMs: 3_600_000, unit: 'calls' } });
  await shop.pool.query(`update handler set paces = array[extract(epoch from clock()) * 1000 + 3600000]`);
  await shop.pool.query(`update target set paces = array[extract(epoch from clock()) * 1000 + 60000],
    hold_until = to_timestamp(extract(epoch from clock()) + 59.5) where key = 'se'`);
  await shop.client.limits.set('items', { rate: [rate(10), { ...rate(1), scope: 'target' }] });
  const { rows } = await shop.pool.query<{ ms: number; held: boolean }>(
    `select h.paces[1] - extract(epoch from clock()) * 1000 as ms, t.hold_until is not null as held
    from handler h join target t on t.handler_id = h.id where t.key = 'se'`,
  );
  expect(rows[0]!.ms).toBeLessThanOrEqual(100);
  expect(rows[0]!.held).toBe(false);
  await shop.client.limits.remove('items');
});

test('each change is in the audit, with who asked, and the old and the new value', async () => {
  await shop.client.limits.set('items', { concurrency: { perTarget: 1 } }, { target: 'se', forMs: 1_000 });
  await shop.client.limits.remove('items', { target: 'se' });
  const [removed, set] = await shop.client.audit.list({ limit: 2, subject: 'target items/se' });
  expect(set).toMatchObject({
    verb: 'set limits',
    outcome: 'done',
    detail: { limits: { concurrency: { perTarget: 1 } }, forMs: 1_000 },
    answer: { changed: [{ limit: 'concurrency.perTarget', from: 4, to: 1 }] },
  });
  expect(set!.who).not.toBe('');
  expect(removed).toMatchObject({
    verb: 'remove limits',
    answer: { changed: [{ limit: 'concurrency.perTarget', from: 1, to: 4 }] },
  });
});

test('explain says in one sentence that a task waits because of a limit that was set, and by whom', async () => {
  await shop.client.limits.set('items', { concurrency: { perTarget: 1 } }, { target: 'no' });
  const { by } = (await shop.client.targets('items')).find(({ key }) => key === 'no')!.limitsSet[0]!;
  await shop.pool.query(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n1', 'q', '{items}', clock(), clock())`,
  );
  await shop.client.flush('items', 'no');
  await shop.pool.query(`update target set busy = true, due_at = null where key = 'no'`);
  await shop.pool.query(`update leader set state = 1, expires_at = clock() + interval '1 min'`);
  const { text, facts } = await shop.client.explain('n1');
  expect(facts.target.limitsSet).toMatchObject({ 'concurrency.perTarget': { value: 1 } });
  expect(text).toContain(`of at most 1 (set by ${by}); it is sent when a call has ended.`);
  await shop.client.limits.remove('items', { target: 'no' });
});

describe('what is refused, and changes nothing', () => {
  type Args = Parameters<Shop['client']['limits']['set']>;
  test.each<[string, Args[1], Args[2], RegExp]>([
    ['nothing', {}, {}, /^limits: expected at least one of rate, concurrency/],
    ['no calls', { concurrency: { perHandler: 0 } }, {}, /^limits\.concurrency\.perHandler: expected a whole number/],
    ['an unknown name', { speed: 1 } as never, {}, /^limits\.speed: unknown setting/],
    ['a rate of 0', { rate: rate(0) }, {}, /^limits\.rate\.limit: expected a number above 0/],
    [
      'a rate without end',
      { rate: { ...rate(1), perMs: 1e300 } },
      {},
      /^limits\.rate\[0\]\.perMs: expected a number from/,
    ],
    [
      'a handler limit of a target',
      { concurrency: { perHandler: 1 } },
      { target: 'se' },
      /perHandler: expected nothing/,
    ],
    [
      'a handler rate of a target',
      { rate: { ...rate(1), scope: 'handler' } },
      { target: 'se' },
      /scope: expected "target"/,
    ],
    ['a weight below a full batch', { maxWeightInFlight: { perTarget: 5 } }, {}, /at least limits\.maxWeight .* \(6\)/],
    [
      'a time that has passed',
      { rate: null },
      { until: '2020-01-01T00:00:00Z' },
      /^until: expected a time in the future/,
    ],
    ['a time and a duration', { rate: null }, { until: '2999-01-01T00:00:00Z', forMs: 5 }, /^forMs: expected nothing/],
    ['an unknown target', { concurrency: { perTarget: 1 } }, { target: 'xx' }, /xx/],
  ])('%s', async (_, limits, options, message) => {
    const before = await columns();
    await expect(shop.client.limits.set('items', limits, options)).rejects.toThrow(message);
    expect(await columns()).toEqual(before);
    expect((await shop.client.limits.list()).limits).toEqual([]);
  });
});

import { tmpdir } from 'node:os';
import type { SharedLimitSettings } from '../../client';
import { EndedLimits } from '../../activities/limits/endedLimits';
import { registerShare } from '../../postgres/limits/shared';
import { runCli } from '../cli/process';
import { breakingPool } from '../executions/breaking';
import type { Shop } from '../client/shop';
import { itemHandler, items, openShop } from '../client/shop';
import { registerHandler } from '../../postgres/grouping/handler';

/** The verbs for limits that handlers share, on a store where nothing moves but by the test. */

const rate = (limit: number, perMs = 1_000) => ({ limit, perMs, unit: 'calls' as const });
const stored = (limit: number, perMs = 1_000) => [{ ...rate(limit, perMs), scope: 'shared' as const }];
const KEY = { name: 'key', rates: [rate(20)], concurrency: 6 };

let shop: Shop;
beforeAll(async () => {
  shop = await openShop();
  await shop.client.submit('items', items('se', 's1'));
  await registerHandler(shop.pool, itemHandler({ name: 'others' }));
  for (const name of ['items', 'others']) await registerShare(shop.pool, name, KEY);
});
afterAll(() => shop.stop());

const row = async (): Promise<{ concurrency: number | null; rates: unknown; paces: number[] }> => {
  const { rows } = await shop.pool.query('select concurrency, rates, paces from shared_limit');
  return rows[0]!;
};
const changes = async (): Promise<number[]> => {
  const { rows } = await shop.pool.query<{ n: number }>('select rate_changes as n from handler order by name');
  return rows.map(({ n }) => n);
};

test('what is set counts, is shown with who, until when and for which handlers, until it is removed', async () => {
  const set = await shop.client.sharedLimits.set('key', { rate: rate(2), concurrency: 1 }, { forMs: 60_000 });
  expect(set.changed).toEqual([
    { limit: 'rate', from: stored(20), to: stored(2) },
    { limit: 'concurrency', from: 6, to: 1 },
  ]);
  expect(await row()).toMatchObject({ concurrency: 1, rates: stored(2) });
  expect(await changes()).toEqual([1, 1]);
  const { limits, handlers } = await shop.client.sharedLimits.get('key');
  expect(handlers).toEqual(['items', 'others']);
  expect(limits[1]).toMatchObject({ limit: 'concurrency', inForce: 1, defined: 6 });
  expect(limits[1]!.set!.by).toMatch(/@/);
  expect(Date.parse(limits[1]!.set!.until!) - Date.parse(limits[1]!.set!.at)).toBe(60_000);

  const back = await shop.client.sharedLimits.set('key', { concurrency: null });
  expect(back.changed).toEqual([{ limit: 'concurrency', from: 1, to: 6 }]);
  expect(await changes()).toEqual([1, 1]);
  expect((await shop.client.sharedLimits.remove('key')).changed).toEqual([
    { limit: 'rate', from: stored(2), to: stored(20) },
  ]);
  expect(await row()).toMatchObject({ concurrency: 6, rates: stored(20) });
});

test('the status of a handler names the limit that it shares, until it shares none', async () => {
  const named = async (): Promise<unknown> =>
    (await shop.client.status()).map(({ handler, sharesLimit }) => [handler, sharesLimit]);
  expect(await named()).toEqual([
    ['items', 'key'],
    ['others', 'key'],
  ]);
  const options = { cwd: tmpdir(), env: { MUSTER_DATABASE_URL: shop.database.url } };
  expect((await runCli(['status', 'others'], options)).stdout).toMatch(/^shares the limit +key$/m);
  await registerShare(shop.pool, 'others', null);
  expect(await named()).toContainEqual(['others', null]);
  expect((await runCli(['status', 'others'], options)).stdout).not.toContain('shares the limit');
  await registerShare(shop.pool, 'others', KEY);
});

test('a worker that registers another definition changes what is defined, not what is set', async () => {
  await shop.client.sharedLimits.set('key', { rate: rate(3) });
  await registerShare(shop.pool, 'items', { ...KEY, rates: [rate(30)], concurrency: 9 });
  expect(await row()).toMatchObject({ concurrency: 9, rates: stored(3) });
  await shop.client.sharedLimits.set('key', { concurrency: 2 });
  await registerShare(shop.pool, 'items', KEY);
  expect(await row()).toMatchObject({ concurrency: 2, rates: stored(3) });
  await shop.client.sharedLimits.remove('key');
  expect(await row()).toMatchObject({ concurrency: 6, rates: stored(20) });
});

test('the wait of a slow rate is not waited for under a faster one, nor its share of it', async () => {
  await shop.client.sharedLimits.set('key', { rate: rate(1, 3_600_000) });
  await shop.pool.query(`update shared_limit set paces = array[extract(epoch from clock()) * 1000 + 3600000]`);
  await shop.pool.query(`update handler set share_ms = extract(epoch from clock()) * 1000 + 3600000`);
  await shop.client.sharedLimits.set('key', { rate: rate(10) });
  const { rows } = await shop.pool.query<{ ms: number; share: number | null }>(
    `select s.paces[1] - extract(epoch from clock()) * 1000 as ms, h.share_ms as share
    from shared_limit s join handler h on h.shares = s.id`,
  );
  expect(rows).toHaveLength(2);
  for (const { ms, share } of rows) expect([ms <= 100, share]).toEqual([true, null]);
  await shop.client.sharedLimits.remove('key');
});

test("what has ended is removed by the sweeper, by the database's clock", async () => {
  await shop.client.sharedLimits.set('key', { rate: rate(1) }, { forMs: 3_600_000 });
  const deps = {
    pool: shop.pool,
    requests: undefined as never,
    prefix: shop.client.prefix,
    log: { info: () => undefined, warn: () => undefined },
  };
  const ended = new EndedLimits(deps);
  await ended.look();
  expect(await row()).toMatchObject({ rates: stored(1) });
  await shop.pool.query(`update shared_limit set limits_until = clock() - interval '1 ms',
    limits = jsonb_set(limits, '{rate,until}', '"2020-01-01T00:00:00.000Z"')`);
  await ended.look();
  expect(await row()).toMatchObject({ rates: stored(20) });
  expect((await shop.client.sharedLimits.get('key')).limits[0]!.set).toBeNull();
});

test.each([
  ['what waits could not be found', 'find-targets-with-work', 'before', 'look', 'was not woken'],
  ['the answer to the removal was lost', 'commit', 'after', 'look', 'could not be removed'],
  ['the same, where another process sweeps by then', 'commit', 'after', 'wakeAll', 'could not be removed'],
] as const)('what waited under a limit that ended is woken later: %s', async (_, name, when, next, told) => {
  await shop.client.sharedLimits.set('key', { rate: rate(1) }, { forMs: 3_600_000 });
  await shop.pool.query(`update shared_limit set limits_until = clock() - interval '1 ms',
    limits = jsonb_set(limits, '{rate,until}', '"2020-01-01T00:00:00.000Z"')`);
  await shop.pool.query(`update target set due_at = clock() + interval '1 hour'`);
  const { pool, breaking } = breakingPool(shop.database.url);
  const warnings: string[] = [];
  const ended = new EndedLimits({
    pool,
    requests: undefined as never,
    prefix: shop.client.prefix,
    log: { info: () => undefined, warn: (_fields: object, message: string) => void warnings.push(message) } as never,
  });
  const isDue = async (): Promise<boolean[]> =>
    (await shop.pool.query<{ due: boolean }>(`select due_at < clock() + interval '2 min' as due from target`)).rows.map(
      ({ due }) => due,
    );
  Object.assign(breaking, { name, when, times: 100 });
  await ended.look();
  if (name !== 'commit') await ended.look();
  expect([await row(), await isDue()]).toMatchObject([{ rates: stored(20) }, [false]]);
  breaking.name = null;
  await ended[next]();
  expect(await isDue()).toEqual([true]);
  expect(warnings).toEqual([expect.stringContaining(told)]);
  await pool.end();
});

test('each change is in the audit, and the list is in pages', async () => {
  await shop.client.sharedLimits.set('key', { concurrency: 1 });
  await shop.client.sharedLimits.remove('key');
  const [removed, set] = await shop.client.audit.list({ limit: 2, subject: 'shared limit key' });
  expect(set).toMatchObject({
    verb: 'set shared limit',
    outcome: 'done',
    detail: { limits: { concurrency: 1 } },
    answer: { changed: [{ limit: 'concurrency', from: 6, to: 1 }] },
  });
  expect(removed).toMatchObject({ verb: 'remove shared limit' });
  await registerShare(shop.pool, 'others', { ...KEY, name: 'other-key' });
  const first = await shop.client.sharedLimits.list({ limit: 1 });
  const second = await shop.client.sharedLimits.list({ limit: 1, after: first.next! });
  expect([...first.limits, ...second.limits].map(({ name, handlers }) => [name, handlers])).toEqual([
    ['key', ['items']],
    ['other-key', ['others']],
  ]);
});

test.each<[string, SharedLimitSettings, RegExp]>([
  ['nothing', {}, /^limits: expected at least one of rate, concurrency/],
  ['no calls', { concurrency: 0 }, /^limits\.concurrency: expected a whole number/],
  ['a rate of 0', { rate: rate(0) }, /^limits\.rate\.limit: expected a number above 0/],
  ['a rate per target', { rate: { ...rate(1), scope: 'target' } as never }, /^limits\.rate\.scope: unknown setting/],
  ['a rate without end', { rate: [rate(1, 1e300)] }, /^limits\.rate\[0\]\.perMs: expected a number from/],
])('refused, and nothing is changed: %s', async (_, settings, message) => {
  const before = await row();
  await expect(shop.client.sharedLimits.set('key', settings)).rejects.toThrow(message);
  expect(await row()).toEqual(before);
});

test('an unknown name is not found, and the error says when it would be', async () => {
  for (const verb of ['get', 'remove'] as const)
    await expect(shop.client.sharedLimits[verb]('none')).rejects.toThrow(
      /^Shared limit "none" not found\..* once a worker has started with a handler that shares it/,
    );
});

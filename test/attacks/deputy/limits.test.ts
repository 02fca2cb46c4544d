import type { ApiWorld } from '../../api/world';
import { items, openWorld } from '../../api/world';
import { insertToken } from '../../../postgres/api/token';
import { registerShare } from '../../../postgres/limits/shared';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { Tally } from '../tally';

/** What callers set of a handler's limits stays under the operator's ceilings. */

const rate = (limit: number, perMs = 1_000) => ({ limit, perMs, unit: 'calls' as const });
const tally = new Tally('limits above their ceilings');
let world: ApiWorld;
let token: string;
let few: string;
let others: Record<'read' | 'submit', string>;
beforeAll(async () => {
  const maxLimits = {
    items: {
      rate: [{ ...rate(10), scope: 'handler' as const }],
      'concurrency.perHandler': 8,
      'concurrency.perTarget': 2,
    },
  };
  world = await openWorld({ maxLimits });
  await world.client.submit('items', items('a', 'i1'));
  await world.client.submit('narrow', items('a', 'n1'));
  const shared = [{ ...rate(10), scope: 'shared' as const }];
  await registerShare(world.database.pool, 'items', { name: 'key', rates: shared, concurrency: 8 });
  token = await world.token('operate');
  few = newToken();
  const scopes = ['read', 'operate'] as const;
  await insertToken(world.database.pool, {
    name: 'few',
    hash: hashToken(few),
    scopes: [...scopes],
    handlers: ['items'],
  });
  others = { read: await world.token('read'), submit: await world.token('submit') };
});
afterAll(() => world.stop());

const set = (path: string, body: unknown, as = token) => world.call(`PATCH /v1/limits/${path}`, { body, token: as });

test.each<[string, string, object]>([
  ['calls', 'items', { concurrency: { perHandler: 9 } }],
  ['calls of a target', 'items/targets/a', { concurrency: { perTarget: 3 } }],
  ['a rate', 'items', { rate: rate(11) }],
  ['a rate in other words', 'items', { rate: rate(36_001, 3_600_000) }],
  ['no rate at all', 'items', { rate: [] }],
  ['a rate per target only', 'items', { rate: { ...rate(1), scope: 'target' } }],
  ['one of two', 'items', { rate: rate(1), concurrency: { perHandler: 10_000 } }],
])('refused: %s', async (what, path, body) => {
  const { status, body: answer } = await set(path, body);
  tally.add(what, status === 422 ? null : `answered ${status}`);
  expect([status, answer.code]).toEqual([422, 'NOT_ALLOWED']);
  expect(answer.detail).toMatch(/expected at most .* \(api\.maxLimits of the config file for handler "items"\)/);
  expect((await world.client.limits.list()).limits).toEqual([]);
});

test.each<[string, object]>([
  ['shared calls', { concurrency: 9 }],
  ['a shared rate', { rate: rate(11) }],
  ['no shared rate', { rate: [] }],
  ['a shared rate of another unit', { rate: { ...rate(1), unit: 'items' } }],
])('refused above its definition: %s', async (what, body) => {
  const { status, body: answer } = await world.call('PATCH /v1/shared-limits/key', { body, token });
  tally.add(what, status === 422 ? null : `answered ${status}`);
  expect([status, answer.code]).toEqual([422, 'NOT_ALLOWED']);
  expect(answer.detail).toMatch(/expected at most .*, as shared limit "key" is defined/);
  expect((await world.client.sharedLimits.get('key')).limits.map(({ set }) => set)).toEqual([null, null]);
});

test('none got through', () => tally.expectNoneThrough(11));

test('less than a shared limit is set and removed; a limited token does not see it', async () => {
  const path = '/v1/shared-limits/key';
  for (const route of [`GET ${path}`, 'GET /v1/shared-limits', `DELETE ${path}`])
    expect([route, (await world.call(route, { token: few })).status]).toEqual([route, 404]);
  const set = await world.call(`PATCH ${path}`, { body: { rate: rate(600, 60_000), concurrency: 8 }, token });
  expect([set.status, set.body.changed.length]).toEqual([200, 1]);
  const removed = await world.call(`DELETE ${path}`, { token });
  expect([removed.status, removed.body.changed.length]).toEqual([200, 1]);
});

test('what is below is set, with who asked; as defined is always allowed; others have no ceiling', async () => {
  const { status, body } = await set('items', {
    rate: rate(600, 60_000),
    concurrency: { perHandler: 8 },
    forMs: 60_000,
  });
  expect([status, body.changed.length]).toEqual([200, 2]);
  expect((await world.client.limits.get('items')).limits[0]!.set!.by).toMatch(/^token \d+ \(operate\)/);
  expect((await set('items', { rate: null })).status).toBe(200);
  expect((await set('narrow', { concurrency: { perHandler: 9_999 } })).status).toBe(200);
  for (const handler of ['items', 'narrow'])
    expect((await world.call(`DELETE /v1/limits/${handler}`, { token })).status).toBe(200);
  expect((await world.call('GET /v1/limits', { token: others.read })).body).toEqual({
    limits: [],
    next: null,
  });
});

test('a token that may only read or submit sets nothing', async () => {
  for (const scope of ['read', 'submit'] as const)
    expect((await set('items', { concurrency: { perHandler: 1 } }, others[scope])).status).toBe(403);
});

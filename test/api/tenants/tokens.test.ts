import type { ApiTokenRow } from '../../../postgres/api/token';
import { insertToken, readTokens, replaceToken, revokeToken } from '../../../postgres/api/token';
import { hashToken, newToken } from '../../../workers/api/tokens';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { items, openWorld } from '../world';

/** Tokens expire, are rotated without a gap, and say when they were last used. @slow */

let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());

const make = async (more: object = {}): Promise<{ token: string; id: number }> => {
  const token = newToken();
  const row = await insertToken(world.database.pool, {
    name: 'one',
    hash: hashToken(token),
    scopes: ['submit', 'read'],
    ...more,
  });
  return { token, id: row.id };
};
const status = async (token: string): Promise<number> => (await world.call('GET /v1/tasks/none', { token })).status;
const eventuallyIs = (token: string, expected: number): Promise<true> =>
  eventually(async () => (await status(token)) === expected);

test('an expired token is refused like a wrong one', async () => {
  const { token } = await make({ expiresInMs: 3_000 });
  const lasting = await make();
  await eventuallyIs(token, 404);
  await eventuallyIs(token, 401);
  expect(await status(lasting.token)).toBe(404);
});

test('a rotated token has the same limits and lifetime, and the old one stays for the overlap', async () => {
  const { token, id } = await make({ handlers: ['items'], expiresInMs: 3_600_000 });
  const next = newToken();
  const made = await replaceToken(world.database.pool, id, { hash: hashToken(next), overlapMs: 3_000 });
  expect(made).toMatchObject({ name: 'one', scopes: ['submit', 'read'], handlers: ['items'], replaces: id });
  expect(Math.round((made!.expiresAt!.getTime() - made!.createdAt.getTime()) / 1_000)).toBe(3_600);
  await eventuallyIs(next, 404);
  expect(await status(token)).toBe(404);
  await eventuallyIs(token, 401);
  expect(await status(next)).toBe(404);
  const again = await replaceToken(world.database.pool, id, { hash: hashToken(newToken()), overlapMs: 0 });
  expect(again).toBe(null); // it has expired
});

test.each([3_600_000, null])(
  'rotated again after what replaced it was revoked, a token of %p ms has its whole lifetime',
  async (expiresInMs) => {
    const { id } = await make({ expiresInMs });
    const rotate = (from: number) =>
      replaceToken(world.database.pool, from, { hash: hashToken(newToken()), overlapMs: 60_000 });
    const lifetime = ({ expiresAt, createdAt }: ApiTokenRow): number | null =>
      expiresAt === null ? null : Math.round((expiresAt.getTime() - createdAt.getTime()) / 1_000) * 1_000;
    const second = (await rotate(id))!;
    const third = (await rotate(second.id))!;
    for (const lost of [second, third]) await revokeToken(world.database.pool, lost.id);
    const fourth = (await rotate(id))!;
    expect([second, third, fourth].map(lifetime)).toEqual([expiresInMs, expiresInMs, expiresInMs]);
    expect(await rotate(id)).toBe(null); // the fourth has replaced it
  },
);

test('a stream ends with the token that opened it, also while the one in its place is valid', async () => {
  const { token, id } = await make();
  await eventuallyIs(token, 404);
  const { body } = await world.call('POST /v1/fanouts', { token, body: {} });
  const next = newToken();
  await replaceToken(world.database.pool, id, { hash: hashToken(next), overlapMs: 3_600_000 });
  await eventuallyIs(next, 404);
  const open = (by: string) => world.call(`GET /v1/fanouts/${body.id}/events`, { token: by, signal: leaving.signal });
  const leaving = new AbortController();
  const ofNext = open(next).catch(() => 'left');
  const ofOld = open(token);
  await revokeToken(world.database.pool, id);
  expect((await ofOld).text).toContain('"status":401');
  expect(await Promise.race([ofNext, Promise.resolve('open')])).toBe('open');
  leaving.abort();
  expect(await ofNext).toBe('left');
});

test('a request under a key is the same request with the token that replaces the first', async () => {
  const { token, id } = await make();
  await eventuallyIs(token, 404);
  const send = (by: string) =>
    world.call('POST /v1/handlers/items/tasks', { token: by, key: 'k', body: { tasks: items('a', 'keyed') } });
  expect((await send(token)).body).toMatchObject({ accepted: 1 });
  const next = newToken();
  const made = await replaceToken(world.database.pool, id, { hash: hashToken(next), overlapMs: 0 });
  await eventuallyIs(next, 404);
  const repeated = await send(next);
  expect(repeated.body).toMatchObject({ accepted: 1 });
  expect(repeated.headers.get('idempotency-replayed')).toBe('true');
  const last = newToken();
  await replaceToken(world.database.pool, made!.id, { hash: hashToken(last), overlapMs: 0 });
  await eventuallyIs(last, 404);
  expect((await send(last)).headers.get('idempotency-replayed')).toBe('true');
});

test('the use of a token is noted', async () => {
  const used = await make();
  const unused = await make();
  await eventuallyIs(used.token, 404);
  await eventually(async () => {
    await status(used.token);
    return (await readTokens(world.database.pool)).find(({ id }) => id === used.id)!.usedAt !== null;
  });
  expect((await readTokens(world.database.pool)).find(({ id }) => id === unused.id)!.usedAt).toBe(null);
});

test('a store that cannot note the use of a token still answers its caller', async () => {
  const { token } = await make();
  await eventuallyIs(token, 404);
  const { pool } = world.database;
  await pool.query(`create function no_use() returns trigger language plpgsql as 'begin raise exception $$no$$; end'`);
  await pool.query('create trigger no_use before update on api_token for each row execute function no_use()');
  const since = Date.now();
  await eventually(async () => {
    expect(await status(token)).toBe(404);
    return Date.now() - since > 4_500; // the tokens are read again every 2 s
  });
  await pool.query('drop trigger no_use on api_token');
});

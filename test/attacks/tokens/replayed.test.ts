import { insertToken, revokeToken } from '../../../postgres/api/token';
import type { Pool } from '../../../postgres/pool';
import { hashToken, newToken, TokenBook } from '../../../workers/api/tokens';
import type { ApiWorld } from '../../api/world';
import { items, openWorld } from '../../api/world';
import { eventually } from '../../helpers/eventually';
import { Tally } from '../tally';

/**
 * What was sent or answered once, sent again by another or too late; tokens that end meanwhile.
 *
 * @slow
 */

const tally = new Tally('replays, and tokens that end');
/** How long another process may take a revoked token (docs/http-api.md). */
const SEEN_AFTER_MS = 2_000;
let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({ open: false });
});
afterAll(() => world.stop());

const make = async (more: object = {}): Promise<{ token: string; id: number }> => {
  const token = newToken();
  const row = { name: 'one', hash: hashToken(token), scopes: ['submit', 'read'] as const, ...more };
  const { id } = await insertToken(world.database.pool, row);
  await eventually(async () => (await world.call('GET /v1/tasks/none', { token })).status === 404);
  return { token, id };
};

interface Tried {
  begunAt: number;
  status: number;
}
/** Sends without a pause, ten at once, until the token is refused, and for a second more. */
const burst = async (token: string): Promise<Tried[]> => {
  const all: Tried[] = [];
  let refusedAt = Infinity;
  const send = async (): Promise<void> => {
    while (performance.now() < refusedAt + 1_000) {
      const begunAt = performance.now();
      const { status } = await world.call('GET /v1/tasks/none', { token });
      all.push({ begunAt, status });
      if (status === 401) refusedAt = Math.min(refusedAt, performance.now());
    }
  };
  await Promise.all(Array.from({ length: 10 }, send));
  return all;
};
const judge = (what: string, all: readonly Tried[], endedAt: number): void => {
  const refusedAt = Math.min(...all.filter(({ status }) => status === 401).map(({ begunAt }) => begunAt));
  const late = all.filter(({ status, begunAt }) => status !== 401 && begunAt > endedAt + SEEN_AFTER_MS);
  const again = all.filter(({ status, begunAt }) => status === 404 && begunAt > refusedAt + SEEN_AFTER_MS);
  expect(all.filter(({ status }) => status === 404).length).toBeGreaterThan(20);
  expect(all.filter(({ status }) => ![401, 404].includes(status))).toEqual([]);
  for (const _ of all) tally.add(what, null);
  for (const { begunAt } of [...late, ...again]) tally.add(what, `let in ${begunAt - endedAt} ms after its end`);
};

test('under a burst, no request that begins 2 s after a revocation or an expiry is let in', async () => {
  const [revoked, expired] = [await make(), await make({ expiresInMs: 3_000 })];
  const expiresAt = performance.now() + 3_000;
  const ofRevoked = burst(revoked.token);
  const ofExpired = burst(expired.token);
  await new Promise((resolve) => setTimeout(resolve, 500));
  await revokeToken(world.database.pool, revoked.id);
  const revokedAt = performance.now();
  judge('a revoked token', await ofRevoked, revokedAt);
  judge('an expired token', await ofExpired, expiresAt);
});

test('a revocation while the tokens are being read counts from then on, however long that takes', async () => {
  const { pool } = world.database;
  const { token, id } = await make();
  let now = 0;
  let held = Promise.resolve();
  let isRead = false;
  /** The real pool, whose list of tokens may be held back on its way. */
  const slow = {
    query: async (asked: { name: string }) => {
      const answer: unknown = await pool.query(asked as unknown as string);
      if (asked.name !== 'read-api-tokens') return answer;
      isRead = true;
      await held;
      return answer;
    },
  } as unknown as Pool;
  const book = new TokenBook(slow, () => now);
  expect(await book.find(token)).toMatchObject({ tokenId: id });
  now = SEEN_AFTER_MS;
  isRead = false;
  let release = (): void => undefined;
  held = new Promise((resolve) => (release = resolve));
  const during = book.find(token);
  await eventually(() => isRead);
  await revokeToken(pool, id);
  now += SEEN_AFTER_MS - 1;
  release();
  held = Promise.resolve();
  expect(await during).toMatchObject({ tokenId: id });
  now += 1;
  const after = await book.find(token);
  tally.add('a token that was revoked while the tokens were read', after === null ? null : 'let in');
  expect(after).toBeNull();
});

test('who joins a read that takes long is let in only by what was read since', async () => {
  const { pool } = world.database;
  const { token, id } = await make();
  let now = 0;
  let reads = 0;
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  const slow = {
    query: async (asked: { name: string }) => {
      const answer: unknown = await pool.query(asked as unknown as string);
      if (asked.name === 'read-api-tokens' && ++reads === 1) await held;
      return answer;
    },
  } as unknown as Pool;
  const book = new TokenBook(slow, () => now);
  const first = book.find(token);
  await eventually(() => reads === 1);
  await revokeToken(pool, id);
  now = 2 * SEEN_AFTER_MS;
  const joined = book.find(token);
  release();
  tally.add('a token that was revoked, in a read that began before', (await joined) === null ? null : 'let in');
  expect([(await first)?.tokenId, await joined]).toEqual([id, null]);
});

test('a key, an answer or a session of another token gives its thief nothing', async () => {
  const [owner, thief] = [await make(), await make({ handlers: ['narrow'] })];
  const other = await make();
  const submit = 'POST /v1/handlers/items/tasks';
  const body = { tasks: items('a', 'kept') };
  const open = (token: string) => world.call('POST /v1/fanouts', { token, key: 'k', body: {} });
  expect((await world.call(submit, { token: owner.token, key: 'k', body })).status).toBe(200);
  const mine = await open(owner.token);
  const theirs = await open(other.token);
  const cookie = { cookie: `muster=${owner.token}` };
  const page = { ...cookie, 'x-muster-page': '1' };
  const read = (headers: Record<string, string>) => world.call('GET /v1/tasks/kept', { headers });
  expect((await read(page)).status).toBe(200);
  const replayed = ({ headers }: { headers: Headers }): boolean => headers.get('idempotency-replayed') !== null;

  const tries: readonly (readonly [string, boolean])[] = [
    ['the key of an opening, by another token', replayed(theirs) || theirs.body.id === mine.body.id],
    [
      'the key of a submit, by a token of another handler',
      (await world.call(submit, { token: thief.token, key: 'k', body })).status !== 404,
    ],
    ['the key of a submit, without a token', (await world.call(submit, { key: 'k', body })).status !== 401],
    [
      'the key with another body',
      (await world.call(submit, { token: owner.token, key: 'k', body: { tasks: items('a', 'more') } })).status !== 422,
    ],
    [
      'the key at another path',
      replayed(await world.call('POST /v1/tasks:cancel', { token: owner.token, key: 'k', body: { ids: ['none'] } })),
    ],
    ['a session without the page’s header', (await read(cookie)).status !== 401],
    [
      'a session in which a hash stands for its token',
      (await read({ ...page, cookie: `muster=${hashToken(owner.token).toString('hex')}` })).status !== 401,
    ],
  ];
  for (const [what, gotThrough] of tries) tally.add(what, gotThrough ? 'it was answered' : null);
  await revokeToken(world.database.pool, owner.id);
  await eventually(async () => (await world.call('GET /v1/tasks/none', { token: owner.token })).status === 401);
  const late: readonly (readonly [string, number])[] = [
    [
      'an answer that was kept for a token that is revoked',
      (await world.call(submit, { token: owner.token, key: 'k', body })).status,
    ],
    ['a session of a token that is revoked', (await read(page)).status],
  ];
  for (const [what, status] of late) tally.add(what, status === 401 ? null : String(status));
  expect(await world.client.getTask('more')).toBeNull();
  tally.expectNoneThrough(50);
});

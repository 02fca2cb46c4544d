import { insertToken } from '../../../postgres/api/token';
import type { Pool } from '../../../postgres/pool';
import { hashToken, newToken, TokenBook } from '../../../workers/api/tokens';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** Tokens that are made while the API runs. */

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const make = async (name: string): Promise<string> => {
  const token = newToken();
  await insertToken(database.pool, { name, hash: hashToken(token), scopes: ['read'] });
  return token;
};

const readsOf = (pool: TestDatabase['pool']): (() => number) => {
  const asked = jest.spyOn(pool, 'query');
  return () => asked.mock.calls.filter(([one]) => (one as { name?: string }).name === 'read-api-tokens').length;
};

test('a token that was just made counts at once, whatever was read just before', async () => {
  const book = new TokenBook(database.pool);
  const first = await make('first');
  expect((await book.find(first))?.name).toBe('first');
  for (let made = 0; made < 20; made++) {
    const read = book.find(newToken()); // a read that may not know the next one
    const token = await make(`new-${made}`);
    expect((await book.find(token))?.name).toBe(`new-${made}`);
    expect(await read).toBeNull();
  }
});

test('a new token is not judged by a read that began before it was made', async () => {
  let held: Promise<void> | null = null;
  let hasRead = (): void => undefined;
  const slow = {
    query: async (asked: { name?: string }) => {
      const answer: unknown = await database.pool.query(asked as unknown as string);
      if (asked.name === 'read-api-tokens') hasRead();
      if (asked.name === 'read-api-tokens' && held !== null) await held;
      return answer;
    },
  } as unknown as Pool;
  const book = new TokenBook(slow);
  await book.find(await make('of before'));
  let release = (): void => undefined;
  held = new Promise((resolve) => (release = resolve));
  const isRead = new Promise<void>((resolve) => (hasRead = resolve));
  const guess = book.find(newToken());
  await isRead;
  const asked = book.find(await make('of meanwhile'));
  held = null;
  release();
  expect([await guess, (await asked)?.name]).toEqual([null, 'of meanwhile']);
});

test('unknown tokens share reads, with pauses of 25 times as long as a read took; known ones cost none', async () => {
  const reads = readsOf(database.pool);
  let busyMs = 0;
  const slow = {
    query: async (asked: { name?: string }) => {
      const begunAt = performance.now();
      const answer: unknown = await database.pool.query(asked as unknown as string);
      if (asked.name !== 'read-api-tokens') return answer;
      await new Promise((resolve) => setTimeout(resolve, 5));
      busyMs += performance.now() - begunAt;
      return answer;
    },
  } as unknown as Pool;
  const book = new TokenBook(slow);
  const known = await make('known');
  expect((await book.find(known))?.name).toBe('known');
  const [before, begunAt] = [reads(), performance.now()];
  busyMs = 0;
  const guess = async (): Promise<void> => {
    while (performance.now() - begunAt < 1_500) expect(await book.find(newToken())).toBeNull();
  };
  await Promise.all(Array.from({ length: 50 }, guess));
  const tookMs = performance.now() - begunAt;
  expect(reads() - before).toBeGreaterThan(2);
  expect(busyMs / tookMs).toBeLessThan(0.1);
  const after = reads();
  for (let asked = 0; asked < 100; asked++) expect((await book.find(known))?.name).toBe('known');
  expect(reads() - after).toBeLessThanOrEqual(1); // the one that is due every two seconds
});

test('no caller waits for the note that a token was used', async () => {
  let ms = 0;
  const book = new TokenBook(database.pool, () => ms);
  const token = await make('locked');
  expect((await book.find(token))?.name).toBe('locked');
  const other = await database.pool.connect();
  await other.query('begin');
  await other.query(`select from api_token where name = 'locked' for update`);
  const tookMs: number[] = [];
  for (let asked = 0; asked < 3; asked++) {
    ms += 2_000;
    const begun = performance.now();
    await book.find(token);
    tookMs.push(performance.now() - begun);
  }
  await other.query('commit');
  other.release();
  expect(tookMs.filter((took) => took > 3_000)).toEqual([]);
  const usedAt = `select count(used_at)::int as n from api_token where name = 'locked'`;
  await eventually(async () => (await database.pool.query<{ n: number }>(usedAt)).rows[0]!.n === 1);
});

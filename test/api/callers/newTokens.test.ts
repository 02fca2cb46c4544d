import { insertToken } from '../../../postgres/api/token';
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

test('a token that was just made counts at once, and unknown ones cost four looks per second', async () => {
  let ms = 0;
  const asked = jest.spyOn(database.pool, 'query');
  const reads = (): number =>
    asked.mock.calls.filter(([one]) => (one as { name?: string }).name === 'read-api-tokens').length;
  const book = new TokenBook(database.pool, () => ms);
  const first = await make('first');
  expect((await book.find(first))?.name).toBe('first');
  const second = await make('second');
  ms = 300;
  expect((await book.find(second))?.name).toBe('second');
  const before = reads();
  for (let i = 0; i < 1_000; i++) {
    ms += 1;
    expect(await book.find(newToken())).toBeNull();
  }
  expect(before).toBe(2);
  expect(reads() - before).toBeLessThanOrEqual(4);
  // Of those that are known none is looked for again.
  ms += 300;
  const known = reads();
  expect((await book.find(first))?.name).toBe('first');
  expect(reads()).toBe(known);
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

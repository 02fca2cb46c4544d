import { insertToken } from '../../../postgres/api/token';
import { hashToken, newToken, TokenBook } from '../../../workers/api/tokens';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

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

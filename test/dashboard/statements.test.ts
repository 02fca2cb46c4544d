import { request } from 'node:http';
import pg from 'pg';
import { insertToken } from '../../postgres/api/token';
import { hashToken, newToken } from '../../workers/api/tokens';
import type { ApiWorld } from '../api/world';
import { items, openWorld } from '../api/world';

/**
 * What viewers of the overview cost in statements: 20 cost about what one does, and none none.
 *
 * @alone
 */

let world: ApiWorld;
const token = newToken();
/** Every statement of this process goes through it; a session takes it over when it is opened. */
const sent = jest.spyOn(pg.Client.prototype, 'query');
beforeAll(async () => {
  world = await openWorld({ open: false });
  await insertToken(world.database.pool, { name: 'viewer', hash: hashToken(token), scopes: ['read'] });
  await world.client.submit('items', items('t', 'a', 'b'));
});
afterAll(async () => {
  await world.stop();
  sent.mockRestore();
});

const look = (path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const headers = { cookie: `muster=${token}`, 'x-muster-page': '1' };
    const sending = request(`${world.api.url}${path}`, { headers }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode!));
    });
    sending.on('error', reject).end();
  });

const SECONDS = 2;

/** Longer than what was read is shown, and than the tokens that were read count. */
const forget = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2_500));

/** Counts the statements of one look of a viewer alone. */
const statementsOfOne = async (path: string): Promise<number> => {
  await forget();
  sent.mockClear();
  await look(path);
  return sent.mock.calls.length;
};

/** Lets viewers look as the page does, each once per second, and counts all statements. */
const statementsOf = async (path: string, viewers: number): Promise<number> => {
  sent.mockClear();
  const until = performance.now() + SECONDS * 1_000;
  const view = async (): Promise<void> => {
    while (performance.now() < until) {
      expect(await look(path)).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  };
  await Promise.all(Array.from({ length: viewers }, view));
  return sent.mock.calls.length;
};

test.each([
  ['/dashboard/overview', 4],
  ['/dashboard/handlers/items', 2],
  ['/v1/handlers/items/tasks?state=created', 1],
  ['/v1/nodes', 1],
])('%s: 20 viewers cost as many statements as one, and none cost none', async (path, least) => {
  await look(path);
  const ofOne = await statementsOfOne(path);
  const twenty = await statementsOf(path, 20);
  process.stdout.write(`${path}: statements: one look ${ofOne}, 20 viewers for ${SECONDS} s ${twenty}\n`);
  expect(ofOne).toBeGreaterThanOrEqual(least);
  // One reading per second, and one at each end.
  expect(twenty).toBeLessThanOrEqual((SECONDS + 2) * ofOne);
  sent.mockClear();
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  expect(sent.mock.calls.length).toBe(0);
});

test('viewers of another reach do not see what was read for these', async () => {
  const narrow = newToken();
  await insertToken(world.database.pool, {
    name: 'n',
    hash: hashToken(narrow),
    scopes: ['read'],
    handlers: ['narrow'],
  });
  await new Promise((resolve) => setTimeout(resolve, 2_100));
  const of = async (one: string): Promise<unknown> =>
    (await world.call('GET /dashboard/overview', { headers: { cookie: `muster=${one}`, 'x-muster-page': '1' } })).body;
  const [all, some] = await Promise.all([of(token), of(narrow)]);
  expect([all, some]).toMatchObject([{ handlers: [{ handler: 'items' }] }, { handlers: [] }]);
});

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
  clock.mockRestore();
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

/** This process's clock goes on by so much in no time: what was read is as old as after a wait. */
const realNow = performance.now.bind(performance);
let passedMs = 0;
const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + passedMs);
const pass = (ms: number): void => void (passedMs += ms);
/** Longer than what was read is shown, and than the tokens that were read count. */
const FORGOTTEN_MS = 2_500;

/** Counts the statements of one look of a viewer alone. */
const statementsOfOne = async (path: string): Promise<number> => {
  pass(FORGOTTEN_MS);
  sent.mockClear();
  await look(path);
  return sent.mock.calls.length;
};

/** Lets viewers look as the page does, each once per second, and counts all statements. */
const statementsOf = async (path: string, viewers: number): Promise<number> => {
  sent.mockClear();
  for (let second = 0; second <= SECONDS; second++) {
    const seen = await Promise.all(Array.from({ length: viewers }, () => look(path)));
    expect(seen).toEqual(seen.map(() => 200));
    pass(1_000);
  }
  return sent.mock.calls.length;
};

const PATHS: readonly (readonly [path: string, least: number])[] = [
  ['/dashboard/overview', 4],
  ['/dashboard/hour', 1],
  ['/dashboard/handlers/items', 2],
  ['/v1/handlers/items/tasks?state=created', 1],
  ['/v1/nodes', 1],
];

test.each(PATHS)('%s: 20 viewers cost as many statements as one', async (path, least) => {
  await look(path);
  const ofOne = await statementsOfOne(path);
  const twenty = await statementsOf(path, 20);
  process.stdout.write(`${path}: statements: one look ${ofOne}, 20 viewers for ${SECONDS} s ${twenty}\n`);
  expect(ofOne).toBeGreaterThanOrEqual(least);
  // One reading per second, and one at each end.
  expect(twenty).toBeLessThanOrEqual((SECONDS + 2) * ofOne);
});

test('once there are no viewers, nothing is read', async () => {
  for (const [path] of PATHS) expect(await look(path)).toBe(200);
  sent.mockClear();
  pass(FORGOTTEN_MS);
  await new Promise((resolve) => setTimeout(resolve, 2_000)); // what a timer would read
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
  pass(FORGOTTEN_MS);
  const of = async (one: string): Promise<unknown> =>
    (await world.call('GET /dashboard/overview', { headers: { cookie: `muster=${one}`, 'x-muster-page': '1' } })).body;
  const [all, some] = await Promise.all([of(token), of(narrow)]);
  expect([all, some]).toMatchObject([{ handlers: [{ handler: 'items' }] }, { handlers: [] }]);
});

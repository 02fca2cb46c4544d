import type { Counts } from '../../postgres/operations/statusCounts';
import { countTasks } from '../../postgres/operations/statusCounts';
import { TASK_STATES } from '../../workflows/planning/states';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import type { Operation } from './measures/operationsMeasures';
import { measure, OPERATIONS } from './measures/operationsMeasures';
import { fillStore } from './measures/operationsStore';

/**
 * `bench:operations` in small: rows are counted and not time, so that it is the same on any
 * machine. The long form: `npm run bench:operations`.
 *
 * @slow
 */

let small: TestDatabase;
let large: TestDatabase;
beforeAll(async () => {
  [small, large] = [await createDatabase({ max: 1 }), await createDatabase({ max: 1 })];
  await fillStore(small.pool, 20_000);
  await fillStore(large.pool, 80_000);
});
afterAll(async () => {
  await small.drop();
  await large.drop();
});

const ROWS = 500;
/**
 * All of it can be looked at in the small one; four times as many tasks must not cost four times as
 * much.
 */
const both = async (operation: Operation): Promise<[number, number]> => [
  (await measure(small.url, operation)).rowsRead,
  (await measure(large.url, operation)).rowsRead,
];

test('verify reads about as much of 80,000 tasks as of 20,000, and says how much', async () => {
  const [ofSmall, ofLarge] = await both((client) => client.verify({ rows: ROWS }));
  expect(ofLarge).toBeLessThan(1.5 * ofSmall);
  expect(ofLarge).toBeLessThan(200 * ROWS);
  await measure(large.url, async (client) => {
    const { ok, full, checks } = await client.verify({ rows: ROWS });
    expect([ok, full]).toEqual([true, false]);
    expect(checks.find(({ name }) => name === 'a task is in exactly one place')!.looked).toEqual({
      table: 'task',
      rows: expect.any(Number),
      of: 80_000,
    });
    expect(checks.find(({ name }) => name === 'accepted tasks are the sum of the states')!.looked).toMatchObject({
      rows: 0,
    });
    for (const { looked } of checks) if (looked !== null) expect(looked.rows).toBeLessThanOrEqual(4 * ROWS);
  });
});

test('verify --full reads everything, and the whole store is whole', async () => {
  const [ofSmall, ofLarge] = await both(async (client) => {
    const { ok, full, checks } = await client.verify({ full: true });
    expect([ok, full, checks.filter(({ violations }) => violations.length > 0)]).toEqual([true, true, []]);
  });
  expect(ofLarge).toBeGreaterThan(3 * ofSmall);
});

test('status: what is in tables above the limit is projected, near the truth; what is open is counted', async () => {
  const exact = await countTasks(large.pool, null, Infinity);
  const projected = await countTasks(large.pool, null, 5_000);
  expect([exact.estimated, projected.estimated]).toEqual([false, true]);
  const of = (counts: Counts, state: number): number =>
    counts.states.filter((one) => one.state === state).reduce((sum, { n }) => sum + n, 0);
  for (const state of [TASK_STATES.batched, TASK_STATES.failed]) expect(of(projected, state)).toBe(of(exact, state));
  for (const state of [TASK_STATES.created, TASK_STATES.succeeded]) {
    expect(of(projected, state) / of(exact, state)).toBeGreaterThan(0.6);
    expect(of(projected, state) / of(exact, state)).toBeLessThan(1.6);
  }
});

test('status compares the accepted tasks with the states where that reads little, or when it is asked to', async () => {
  const identityOf = async (url: string, options: { exact?: boolean }): Promise<boolean | null> => {
    let holds: boolean | null = null;
    await measure(url, async (client) => (holds = (await client.status('bulk', options))[0]!.identityHolds));
    return holds;
  };
  expect(await identityOf(small.url, {})).toBe(true);
  expect(await identityOf(large.url, {})).toBe(null);
  expect(await identityOf(large.url, { exact: true })).toBe(true);
});

test('explain reads little at any size', async () => {
  const [ofSmall, ofLarge] = await both(OPERATIONS['explain']!);
  expect(ofLarge).toBeLessThan(1_000);
  expect(ofLarge).toBeLessThan(2 * ofSmall + 100);
});

test.each(Object.entries(OPERATIONS).filter(([name]) => name.startsWith('tasks')))(
  'a page of %s does not read all of 80,000 tasks',
  async (_, operation) => {
    const { rowsRead } = await measure(large.url, operation);
    expect(rowsRead).toBeLessThan(60_000); // at most 40,000 are looked at, where few match
  },
);

import { Costs } from '../../../workers/api/callers/costs';
import { eventually } from '../../helpers/eventually';
import type { ApiWorld } from '../world';
import { items, openWorld } from '../world';

/** Reading large bodies stops all else: a caller has a share of that time while others call. */

const LARGE = 100_000;

/** Costs by a clock that only reading moves, and `pass`. */
const costing = () => {
  let now = 0;
  const costs = new Costs(() => now);
  const read = (caller: number, ms: number, bytes = LARGE): void => costs.during(caller, bytes, () => void (now += ms));
  const refused = (caller: number, bytes: number | null = LARGE): boolean => !costs.admits(caller, bytes);
  return { read, refused, pass: (ms: number) => void (now += ms) };
};

test('who has taken too much is refused while others call, and may again once its share has made up for it', () => {
  const { read, refused, pass } = costing();
  refused(2, 10);
  read(1, 400);
  expect(refused(1)).toBe(false);
  read(1, 400);
  expect(refused(1)).toBe(true);
  refused(2, 10);
  expect(refused(2)).toBe(false);
  pass(1_000); // a tenth of it is its share
  refused(2, 10);
  expect(refused(1)).toBe(true);
  pass(2_500);
  refused(2, 10);
  expect(refused(1)).toBe(false);
});

test('who is alone may take all of the time', () => {
  const { read, refused, pass } = costing();
  for (let n = 0; n < 100; n++) {
    read(1, 1_000);
    expect(refused(1)).toBe(false);
  }
  refused(2, 10);
  expect(refused(1)).toBe(true);
  pass(2_001);
  expect(refused(1)).toBe(false);
});

test('small bodies are neither counted nor refused; those of unknown length are large', () => {
  const { read, refused } = costing();
  refused(2, 10);
  read(1, 5_000, 1_000);
  expect(refused(1)).toBe(false);
  read(1, 5_000);
  refused(2, 10);
  expect([refused(1, 1_000), refused(1, null)]).toEqual([false, true]);
});

describe('over HTTP', () => {
  let world: ApiWorld;
  beforeAll(async () => {
    world = await openWorld({ open: false });
  });
  afterAll(() => world.stop());

  test('large bodies of one caller are refused once they took too long; those of another are not', async () => {
    const greedy = await world.token('submit');
    const modest = await world.token('submit');
    const slow = Buffer.from(`{"tasks":[{"id":"x","payload":[${'1e11    ,'.repeat(440_000)}0]}]}`);
    const route = 'POST /v1/handlers/items/tasks';
    const small = async (token: string, id: string) =>
      (await world.call(route, { token, body: { tasks: items('se', id) } })).status;
    const answer = await eventually(
      async () => {
        expect(await small(modest, 'here')).toBe(200);
        const one = await world.call(route, { token: greedy, raw: slow });
        return one.status === 429 && one;
      },
      { everyMs: 0 },
    );
    expect(answer.body).toMatchObject({ code: 'CALLER_LIMIT' });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect([await small(greedy, 'small'), await small(modest, 'other')]).toEqual([200, 200]);
    expect((await world.call(route, { token: modest, raw: slow })).status).toBe(422);
  });
});

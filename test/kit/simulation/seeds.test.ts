import { defineHandler, LaterError } from '../../../handlers';
import { simulate } from '../../../workers/testing';

/** What chance decides in a simulated world: the waits after back pressure. */

const LONGEST_MS = 1_000_000;
/** Says when a task is called that the downstream refuses three times. */
const callsOf = async (seed?: number): Promise<number[]> => {
  let left = 3;
  const handler = defineHandler<{ to: string }>({
    name: 'parcels',
    target: ({ to }) => to,
    limits: { maxItems: 3 },
    linger: { lingerMs: 0 },
    retry: { inPlace: { times: 0 }, delayed: { baseMs: LONGEST_MS, maxMs: LONGEST_MS } },
    submit: async ({ tasks }) => {
      if (left-- > 0) throw new LaterError('slow down');
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
  const world = simulate(handler, seed === undefined ? {} : { seed });
  await world.submit({ id: 'a1', payload: { to: 'a' } });
  await world.advance('1 hour');
  expect(world.task('a1')).toMatchObject({ state: 'succeeded' });
  return world.calls.map(({ atMs }) => atMs);
};
const waitsOf = async (seed: number): Promise<number[]> => {
  const calls = await callsOf(seed);
  return calls.slice(1).map((atMs, i) => atMs - calls[i]!);
};

test('a seed stands for the same waits each time, and is 1 unless it is named', async () => {
  expect(await callsOf(7)).toEqual(await callsOf(7));
  expect(await callsOf(7)).not.toEqual(await callsOf(8));
  expect(await callsOf()).toEqual(await callsOf(1));
});

test('over all seeds the waits are spread evenly over the time that back pressure may take', async () => {
  const tenths = Array.from({ length: 10 }, () => 0);
  for (let seed = 0; seed < 100; seed++)
    for (const ms of await waitsOf(seed)) tenths[Math.floor((10 * ms) / (LONGEST_MS + 1))]!++;
  expect(tenths.reduce((sum, n) => sum + n, 0)).toBe(300);
  for (const n of tenths) expect(n).toBeGreaterThan(8); // 30 each are expected, give or take 5
});

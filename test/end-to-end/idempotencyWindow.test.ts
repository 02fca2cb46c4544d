import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * A downstream that forgets keys: a call is sent again only while its key still holds then, counted
 * from the start of the batch's first call.
 */

interface Work {
  to: string;
}
interface Case {
  windowMs: number;
  /** Pause before each repeat. */
  pauseMs: number;
  /** How long a call takes that ends in a reset, and how many do. */
  takesMs?: number;
  resets: number;
}
const CASES: Record<string, Case> = {
  short: { windowMs: 300, pauseMs: 600, resets: 1 },
  long: { windowMs: 60_000, pauseMs: 600, resets: 1 },
  second: { windowMs: 1_000, pauseMs: 600, resets: 9 },
  slow: { windowMs: 1_000, pauseMs: 10, takesMs: 1_200, resets: 1 },
  often: { windowMs: 250, pauseMs: 100, resets: 9 },
};
const calls = new Map<string, { key: string; ids: string[] }[]>();
const handlers = Object.entries(CASES).map(([name, { windowMs, pauseMs, takesMs = 0, resets }]) =>
  defineHandler<Work>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 2 },
    idempotency: { by: 'task', windowMs },
    retry: { inPlace: { baseMs: pauseMs }, delayed: { baseMs: pauseMs, maxMs: pauseMs }, maxAttempts: 8 },
    submit: async ({ tasks }, { idempotencyKey: key }) => {
      const mine = calls.get(name) ?? [];
      calls.set(name, [...mine, { key, ids: tasks.map(({ id }) => id) }]);
      await sleep(takesMs);
      if (mine.length < resets) throw new Error('connection reset');
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' })) };
    },
  }),
);

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster(handlers);
  const ids = (name: string): string[] => [1, 2].map((n) => `${name}-${n}`);
  for (const name of Object.keys(CASES))
    await muster.client.submit(
      name,
      ids(name).map((id) => ({ id, payload: { to: 'there' } })),
    );
  await muster.client.waitFor(Object.keys(CASES).flatMap(ids), { timeoutMs: 30_000 });
});
afterAll(() => muster.stop());

test.each([
  ['short', 'the key is forgotten before the repeat', 'unknown', 1],
  ['long', 'the key holds', 'succeeded', 2],
  ['second', 'the key is forgotten before the second repeat', 'unknown', 2],
  ['slow', 'the key is forgotten while the call runs', 'unknown', 1],
  ['often', 'repeats in a row use up the window', 'unknown', 3],
] as const)('%s: %s: %s', async (name, _, state, most) => {
  const { client } = muster;
  const tasks = await client.tasks.lookUp([`${name}-1`, `${name}-2`]);
  expect(tasks.map((task) => task.state)).toEqual([state, state]);
  const made = calls.get(name)!;
  // On a slow machine a call takes longer, and the window is over sooner.
  if (state === 'succeeded') expect(made).toHaveLength(most);
  else expect(made.length).toBeLessThanOrEqual(most);
  expect(new Set(made.map(({ key }) => key)).size).toBe(1);
  expect(new Set(made.map(({ ids }) => ids.join())).size).toBe(1);
  await expectWhole(client);
});

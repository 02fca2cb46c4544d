import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import { tapPool } from '../../chaos/judge/tap';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/** @full */

/**
 * Longer than a turn ever takes, shorter than Postgres lets a transaction idle or wait for a lock.
 */
const SLOW_MS = 6_500;

const called: string[] = [];
const echo = defineHandler<{ to: string }>({
  name: 'echo',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 300 },
  leaders: 1,
  submit: (batch) => {
    called.push(...batch.tasks.map(({ id }) => id));
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
}) as Handler;

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([echo], { sweepEveryMs: 0 }); // nobody but the protocol itself
});
afterAll(() => muster.stop());

test.each([
  ['its transaction is slow: the ring finds it working, the re-read finds the task', 'before', 'publish-turn'],
  ['its re-read is slow: the ring finds it idle, the signal finds the run', 'before', 'is-due-earlier'],
] as const)('a release slowed by several seconds; %s [A13 A19]', async (name, _, statement) => {
  let armed = true;
  let reached: () => void = () => undefined;
  const slow = new Promise<void>((resolve) => (reached = resolve));
  tapPool(muster.database.pool, {
    before: async (at) => {
      if (!armed || at.name !== statement) return;
      armed = false;
      reached();
      await new Promise((resolve) => setTimeout(resolve, SLOW_MS));
    },
  });
  const id = name.slice(4, 10);
  await muster.client.submit('echo', { id: `${id}-cancelled`, payload: { to: id } });
  await muster.client.cancel(`${id}-cancelled`); // its leader looks after the linger, finds nothing, and goes idle
  await slow;
  await muster.client.submit('echo', { id, payload: { to: id } });
  await eventually(() => called.includes(id), { timeoutMs: 60_000, what: `${id} to be sent` });
  expect(called.filter((one) => one === id)).toEqual([id]);
});

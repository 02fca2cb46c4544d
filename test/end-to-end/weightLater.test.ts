import { defineHandler, LaterError } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/** @slow */

/** A batch that waits in the store, with all of the weight that its target may have in flight. */
const calls: string[] = [];
const outcomes: Error[] = [];
const heavy = defineHandler<{ to: string }>({
  name: 'heavy',
  target: ({ to }) => to,
  weightOf: () => 4,
  limits: { maxItems: 1, maxWeightInFlight: { perTarget: 4 } },
  linger: { lingerMs: 0 },
  retry: { inPlace: { times: 0 }, delayed: { baseMs: 2_500 } },
  onUnknown: 'resend',
  submit: async ({ tasks }) => {
    calls.push(tasks[0]!.id);
    const outcome = outcomes.shift();
    if (outcome !== undefined) throw outcome;
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' })) };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([heavy]);
});
afterAll(() => muster.stop());

test.each([
  ['refused for now', new LaterError('busy', { retryAfterMs: 2_500 })],
  ['of unknown outcome', new Error('the connection broke')],
])('a batch %s that has all of its target’s weight goes again, and then what waited for it', async (name, outcome) => {
  outcomes.push(outcome);
  calls.length = 0;
  const ids = ['first', 'second'].map((id) => `${name}/${id}`);
  await muster.client.submit(
    heavy,
    ids.map((id) => ({ id, payload: { to: name } })),
  );
  await eventually(() => calls.length === 3, { timeoutMs: 20_000, what: () => `three calls, not ${calls.join()}` });
  expect(calls).toEqual([ids[0], ...ids]);
  const tasks = await muster.client.waitFor(ids, { timeoutMs: 20_000 });
  expect(tasks.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  await expectWhole(muster.client);
});

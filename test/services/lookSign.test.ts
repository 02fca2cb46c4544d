import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

/**
 * The signs of life of a monitor's looks: an answer is one, the mere beginning of a look is none.
 * Looks that begin and end before their first question must not hide that nothing moves.
 *
 * @slow
 */

let asked = 0;
let answer: () => void = () => undefined;
const answered = new Promise<void>((resolve) => (answer = resolve));

const slow = defineHandler<{ to: string }>({
  name: 'slow',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: () => Promise.resolve({ status: 'accepted', reference: 'job' }),
  poll: { everyMs: 200 },
  status: async (references) => {
    asked++;
    await answered;
    return references.map((reference) => ({ reference, status: 'pending' as const }));
  },
  results: () => Promise.resolve([]),
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([slow]);
});
afterAll(async () => {
  await muster.stop();
});

const signs = async (): Promise<number> =>
  (await muster.database.pool.query(`select from lease where resource = 'look/monitor/slow'`)).rowCount!;

test('a look signs with its first answer, or once it has waited for one for 10 s', async () => {
  await muster.client.submit('slow', { id: 'a', payload: { to: 'a' } });
  await eventually(() => Promise.resolve(asked === 1), { what: 'the question' });
  const begunAt = performance.now();
  expect(await signs()).toBe(0);
  await eventually(async () => (await signs()) === 1, { what: 'the sign of a slow question' });
  expect(performance.now() - begunAt).toBeGreaterThan(8_000);
  await muster.database.pool.query(`delete from lease where resource = 'look/monitor/slow'`);
  answer();
  await eventually(() => Promise.resolve(asked > 1), { what: 'the next question' });
  await eventually(async () => (await signs()) === 1, { what: 'the sign of an answer' });
});

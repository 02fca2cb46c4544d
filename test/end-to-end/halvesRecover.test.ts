import type { Batch, Handler, HandlerOptions, SubmitAnswer } from '../../handlers';
import { defineHandler, RejectedError } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * H4 and H5 together: the halves of a refused batch that succeed give back what back pressure took,
 * in a queue as in a lane.
 */

const calls: string[][] = [];
/** Refuses for now, then for its content, then halves. */
const submit = (batch: Batch): Promise<SubmitAnswer> => {
  const ids = batch.tasks.map(({ id }) => id);
  const whole = calls.filter((call) => call.length === 2 && call[0] === ids[0]).length;
  calls.push(ids);
  if (ids.length === 2 && whole === 0) return Promise.resolve({ status: 'later', retryAfterMs: 50 });
  if (ids.length === 2) throw new RejectedError('one by one, please');
  return Promise.resolve({ results: ids.map((id) => ({ id, status: 'ok' as const })) });
};
const handlerOf = (name: string, more: Partial<HandlerOptions<{ to: string }>>): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 2 },
    linger: { lingerMs: 1_000 },
    concurrency: { perTarget: 4 },
    submit,
    ...more,
  });

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([
    handlerOf('queue', {}),
    handlerOf('lane', { lane: { approach: 'parallel' }, writes: ({ to }) => [to] }),
  ]);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

test.each(['queue', 'lane'])('in a %s each half that succeeds gives back one call [H5]', async (kind) => {
  const tasks = ['1', '2'].map((no) => ({ id: `${kind}-${no}`, payload: { to: kind } }));
  if (kind === 'queue') await muster.client.submit(kind, tasks);
  else await muster.client.submitBatch(kind, kind, tasks);
  const ids = tasks.map(({ id }) => id);
  await muster.client.waitFor(ids);
  expect(calls.filter((call) => call[0]!.startsWith(kind))).toEqual([ids, ids, [ids[0]], [ids[1]]]);
  const limits = async () => {
    const { rows } = await muster.database.pool.query<{ allowed: number | null; reductions: number }>({
      text: 'select t.allowed, t.reductions from target t join handler h on h.id = t.handler_id where h.name = $1',
      values: [kind],
    });
    return rows;
  };
  // Of four calls two were left, and two successes make it four.
  await eventually(async () => (await limits())[0]?.allowed === null, {
    timeoutMs: 10_000,
    what: async () => `all calls allowed again, there are ${JSON.stringify(await limits())}`,
  });
  expect(await limits()).toEqual([{ allowed: null, reductions: 1 }]);
});

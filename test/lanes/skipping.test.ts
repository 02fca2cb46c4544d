import { LaterError, RejectedError } from '../../handlers';
import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';
import { Downstream, items, okay } from './downstream';

/**
 * Order in time, to the millisecond: both clocks are skipped. Waits below a second are in
 * `refusedTimes`: the skipping server loses a run whose timer fires while it is being cancelled.
 */

const downstream = new Downstream();
const ledger = new Downstream();
const halting = new Downstream();
/** When each batch was called, in ms since the test began. */
const calls: { batch: number; at: number }[] = [];
let skipping: Skipping;
const at = async (batch: { id: string }): Promise<void> =>
  void calls.push({ batch: Number(batch.id), at: await skipping.now() });
const COMMIT_MS = 1_000;

beforeAll(async () => {
  const accepted = new Map<string, number>();
  skipping = await startSkipping([
    downstream.handler(),
    halting.handler({ name: 'halting', lane: { onInvalid: 'halt' } }),
    ledger.handler({
      name: 'ledger',
      lane: { approach: 'parallel' },
      poll: { everyMs: COMMIT_MS, deadlineMs: 600_000 },
      submit: async (batch) => {
        await at(batch);
        accepted.set(`r-${batch.id}`, await skipping.now());
        ledger.results.set(
          `r-${batch.id}`,
          batch.tasks.map(({ id }) => id),
        );
        return { status: 'accepted', reference: `r-${batch.id}` };
      },
      status: async (references) => {
        const now = await skipping.now();
        return references.map((reference) => ({
          reference,
          status: now >= accepted.get(reference)! + COMMIT_MS ? 'done' : 'pending',
        }));
      },
      results: (reference) => ledger.results.get(reference)!.map((id) => ({ id, status: 'ok' as const })),
    }),
  ]);
  // Signs of life come in real time, the clock goes in leaps: a node that has always just been seen
  // stands for the one that there is.
  await skipping.database.pool.query(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('leaping', 'q', '{edits,halting,ledger}', clock(), clock() + interval '1 day')`,
  );
});
afterAll(() => skipping.stop());
beforeEach(async () => {
  calls.length = 0;
  await skipping.begin();
});
const submit = async (handler: string, service: string, sets: object = {}, price?: number): Promise<number> =>
  (await skipping.client.submitBatch(handler, service, items(service, 1, price === undefined ? {} : { price }), sets))
    .batch;
const statusOf = async (batch: number) => (await skipping.client.batchStatus(batch))!.status;

test('429 with Retry-After 7 s: nothing of that service for 7 s, others go on', async () => {
  let limited = 0;
  downstream.answer = async (batch) => {
    await at(batch);
    if (batch.target === 'limited' && limited++ === 0) throw new LaterError('429', { retryAfterMs: 7_000 });
    return okay(batch);
  };
  const one = await submit('edits', 'limited');
  await skipping.skipTo(1_000);
  const other = await submit('edits', 'free');
  await skipping.skipTo(10_000);
  expect(calls).toEqual([
    { batch: one, at: 0 },
    { batch: other, at: 1_000 },
    { batch: one, at: 7_000 },
  ]);
});

test('the spec table in rounds of one commit: {1,3} {2,4} {5} {6} {7} [C25]', async () => {
  const sets = [
    [['B', 'E'], ['F']],
    [['D'], ['E']],
    [['B'], ['A']],
    [['A', 'C'], ['B']],
    [['D'], ['C']],
    [['D'], ['C']],
    [[], ['D']],
  ] as const;
  const batches = await skipping.client.submitBatches(
    'ledger',
    sets.map(([reads, writes]) => ({ service: 'table', items: items('table'), reads, writes })),
  );
  await skipping.skipTo(10_000);
  const rounds = new Map<number, number[]>();
  for (const call of calls) {
    const no = batches.findIndex(({ batch }) => batch === call.batch) + 1;
    rounds.set(call.at, [...(rounds.get(call.at) ?? []), no].sort());
  }
  expect([...rounds]).toEqual([
    [0, [1, 3]],
    [1_000, [2, 4]],
    [2_000, [5]],
    [3_000, [6]],
    [4_000, [7]],
  ]);
});

test('no answer: unknown, sent again with the same key, before the next of its lane [C28 C17]', async () => {
  const lane = 'silent';
  let times = 0;
  downstream.answer = async (batch) => {
    await at(batch);
    if (times++ === 0) throw new Error('connection reset');
    return okay(batch);
  };
  const [first, next] = await skipping.client.submitBatches(
    'edits',
    [1, 2].map(() => ({ service: lane, items: items(lane) })),
  );
  await skipping.skipTo(30_000);
  expect(calls.map(({ batch }) => batch)).toEqual([first!.batch, first!.batch, next!.batch]);
  expect(calls[1]!.at).toBeLessThan(15_000);
  const keys = downstream.seen.filter(({ service }) => service === lane).map(({ key, attempt }) => [key, attempt]);
  expect(keys[0]![0]).toBe(keys[1]![0]);
  expect(keys.map(([, attempt]) => attempt)).toEqual([1, 2, 1]);
  expect([await statusOf(first!.batch), await statusOf(next!.batch)]).toEqual(['committed', 'committed']);
});

test('a halted lane stays halted however long it takes, and goes on when it is fixed [C19]', async () => {
  halting.answer = async (batch) => {
    await at(batch);
    if (batch.tasks[0]!.payload.price === -1) throw new RejectedError('no');
    return okay(batch);
  };
  const bad = await submit('halting', 'halted', {}, -1);
  const next = await submit('halting', 'halted');
  await skipping.skipTo(25_000);
  expect([await statusOf(bad), await statusOf(next)]).toEqual(['invalid', 'unsubmitted']);
  const { batch } = await skipping.client.fixHead('halted', { items: items('halted') });
  await skipping.skipTo(26_000);
  expect(calls.map((call) => [call.batch, call.at])).toEqual([
    [bad, 0],
    [batch, 25_000],
    [next, 25_000],
  ]);
});

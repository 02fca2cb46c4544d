import { LaterError, RejectedError } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { eventually } from '../helpers/eventually';
import { expectLanesPermitted, recordLaneMoves } from '../helpers/transitions/recordedLanes';
import { expectWhole } from '../helpers/whole';
import { Downstream, items, okay } from './downstream';

/** What happens to a lane batch, answer by answer of its downstream. */

const downstream = new Downstream();
const halting = new Downstream();
const careful = new Downstream();
let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([
    downstream.handler({ name: 'edits', timeoutMs: 2_000 }),
    halting.handler({ name: 'halting', lane: { onInvalid: 'halt' } }),
    careful.handler({ name: 'careful', idempotency: 'none', timeoutMs: 500 }),
  ]);
  await recordLaneMoves(muster.database.pool);
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));
const callsOf = (service: string, from = downstream) => from.seen.filter((call) => call.service === service);
const statusOf = async (batch: number): Promise<number | undefined> => {
  const { rows } = await muster.database.pool.query<{ status: number }>(
    'select status from lane_batch where batch_id = $1',
    [batch],
  );
  return rows[0]?.status;
};
const ended = (batch: number, status: number) =>
  eventually(async () => (await statusOf(batch)) === status, {
    what: async () => `status ${status} of batch ${batch}, which has ${await statusOf(batch)}`,
  });

test('503, 503, 200: one success, three attempts, waits of 250 ms and 750 ms, nothing else of the lane between', async () => {
  downstream.answer = (batch, _, times) => {
    if (Number(batch.id) === downstream.seen.find(({ service }) => service === 'busy')?.batch && times < 2)
      throw new LaterError('503');
    return okay(batch);
  };
  const first = await muster.client.submitBatch('edits', 'busy', items('busy'));
  const second = await muster.client.submitBatch('edits', 'busy', items('busy'));
  await ended(second.batch, 10);
  const calls = callsOf('busy');
  expect(calls.map(({ batch }) => batch)).toEqual([first.batch, first.batch, first.batch, second.batch]);
  expect(calls.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1]);
  expect(calls[1]!.at - calls[0]!.at).toBeGreaterThanOrEqual(249);
  expect(calls[2]!.at - calls[1]!.at).toBeGreaterThanOrEqual(749);
});

test('429 with Retry-After: that service waits as long, others go on [C14]', async () => {
  downstream.answer = (batch, _, times) => {
    if (batch.target === 'limited' && times === 0) throw new LaterError('429', { retryAfterMs: 2_000 });
    return okay(batch);
  };
  const limited = await muster.client.submitBatch('edits', 'limited', items('limited'));
  await eventually(() => callsOf('limited').length === 1);
  const other = await muster.client.submitBatch('edits', 'unlimited', items('unlimited'));
  await ended(other.batch, 10);
  expect(callsOf('limited')).toHaveLength(1);
  await ended(limited.batch, 10);
  const [one, two] = callsOf('limited');
  expect(two!.at - one!.at).toBeGreaterThanOrEqual(1_999);
});

test('an invalid batch is never sent again, the lane goes on; its items say why [C11 C20]', async () => {
  downstream.answer = (batch) => {
    if (batch.tasks.some(({ payload }) => payload.price === -1)) throw new RejectedError('price below 0');
    return okay(batch);
  };
  const bad = items('strict', 1, { price: -1 });
  const invalid = await muster.client.submitBatch('edits', 'strict', bad);
  const next = await muster.client.submitBatch('edits', 'strict', items('strict'));
  await ended(next.batch, 10);
  expect(await statusOf(invalid.batch)).toBe(11);
  expect(callsOf('strict').map(({ batch }) => batch)).toEqual([invalid.batch, next.batch]);
  expect(await muster.client.getTask(bad[0]!.id)).toMatchObject({ state: 'failed', error: 'price below 0' });
});

test('a bisected batch keeps its place: halves in order, before what was submitted later [C16]', async () => {
  const [a, b, c, d] = items('bisected', 4);
  c!.payload.price = -1;
  const split = await muster.client.submitBatch('edits', 'bisected', [a!, b!, c!, d!]);
  const next = await muster.client.submitBatch('edits', 'bisected', items('bisected'));
  await ended(next.batch, 10);
  const sent = callsOf('bisected').map(({ ids }) => ids.length);
  expect(sent).toEqual([4, 2, 2, 1, 1, 1]);
  expect(
    callsOf('bisected')
      .flatMap(({ ids }) => (ids.length === 1 ? ids : []))
      .slice(0, 2),
  ).toEqual([c!.id, d!.id]);
  expect((await muster.client.getTasks([a!.id, b!.id, c!.id, d!.id])).map(({ state }) => state)).toEqual([
    'succeeded',
    'succeeded',
    'failed',
    'succeeded',
  ]);
  expect(await statusOf(split.batch)).toBeUndefined();
});

test('members that are tried again precede what was submitted later', async () => {
  downstream.answer = (batch, _, times) => ({
    results: batch.tasks.map(({ id, attempts }, index) => ({
      id,
      status: batch.target === 'retried' && index === 1 && attempts === 0 && times === 0 ? 'retry' : 'ok',
      retryAfterMs: 300,
    })),
  });
  const first = items('retried', 3);
  await muster.client.submitBatch('edits', 'retried', first);
  const next = await muster.client.submitBatch('edits', 'retried', items('retried'));
  await ended(next.batch, 10);
  expect(callsOf('retried').map(({ ids }) => ids)).toEqual([
    first.map(({ id }) => id),
    [first[1]!.id],
    expect.anything(),
  ]);
});

test('no answer, and the downstream honours the key: sent again with the same key, first of its lane [C28]', async () => {
  downstream.answer = (batch, _, times) => {
    if (Number(batch.id) === downstream.seen.find(({ service }) => service === 'silent')?.batch && times === 0)
      throw new Error('connection reset');
    return okay(batch);
  };
  const first = await muster.client.submitBatch('edits', 'silent', items('silent'));
  const next = await muster.client.submitBatch('edits', 'silent', items('silent'));
  await ended(next.batch, 10);
  const calls = callsOf('silent');
  expect(calls.map(({ batch }) => batch)).toEqual([first.batch, first.batch, next.batch]);
  expect(calls[0]!.key).toBe(calls[1]!.key);
});

test('no answer, and nothing can tell: the lane halts, nothing is sent blindly [C28]', async () => {
  careful.answer = (batch, _, times) => {
    if (times === 0) throw new Error('connection reset');
    return okay(batch);
  };
  const first = await muster.client.submitBatch('careful', 'one-shot', items('one-shot'));
  await muster.client.submitBatch('careful', 'one-shot', items('one-shot'));
  await ended(first.batch, 6);
  const { rows } = await muster.database.pool.query(
    'select halted_by as by, halt_reason as why from lane_state s join lane l on l.id = s.lane_id where l.service = $1',
    ['one-shot'],
  );
  expect(rows).toEqual([{ by: first.batch, why: expect.stringMatching(/unknown.*connection reset/) }]);
  expect(careful.seen).toHaveLength(1);
});

test('in halt mode an invalid batch stops its lane, and says so [C19]', async () => {
  halting.answer = (batch) => {
    if (batch.tasks[0]!.payload.price === -1) throw new RejectedError('no');
    return okay(batch);
  };
  const bad = await muster.client.submitBatch('halting', 'orders', items('orders', 1, { price: -1 }));
  await muster.client.submitBatch('halting', 'orders', items('orders'));
  await ended(bad.batch, 11);
  const other = await muster.client.submitBatch('halting', 'others', items('others'));
  await ended(other.batch, 10);
  expect(halting.seen.map(({ service }) => service)).toEqual(['orders', 'others']);
});

test('a batch waits for those that it needs, of other lanes; one that needs an invalid one fails unsent [C18]', async () => {
  let open: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => (open = resolve));
  downstream.answer = async (batch) => {
    if (batch.target === 'base-1') await gate;
    if (batch.target === 'base-2') throw new RejectedError('no');
    return okay(batch);
  };
  const { client } = muster;
  const base = await client.submitBatch('edits', 'base-1', items('base-1'));
  const waits = await client.submitBatch('edits', 'top-1', items('top-1'), { dependsOn: [base.batch] });
  const free = await client.submitBatch('edits', 'free-1', items('free-1'));
  await ended(free.batch, 10);
  expect(callsOf('top-1')).toHaveLength(0);
  open();
  await ended(waits.batch, 10);
  let refuse = (): void => undefined;
  const refusing = new Promise<void>((resolve) => (refuse = resolve));
  downstream.answer = async (batch) => {
    if (batch.target !== 'base-2') return okay(batch);
    await refusing;
    throw new RejectedError('no');
  };
  const doomed = await client.submitBatch('edits', 'base-2', items('base-2'));
  const onIt = items('top-2');
  const fails = await client.submitBatch('edits', 'top-2', onIt, { dependsOn: [doomed.batch] });
  const deeper = await client.submitBatch('edits', 'top-3', items('top-3'), { dependsOn: [fails.batch] });
  refuse();
  await ended(deeper.batch, 13);
  expect([await statusOf(doomed.batch), await statusOf(fails.batch)]).toEqual([11, 13]);
  expect([...callsOf('top-2'), ...callsOf('top-3')]).toEqual([]);
  expect(await client.getTask(onIt[0]!.id)).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('not sent'),
  });
});

// Last: it judges what the tests before it made.
test('each change of a status is one that the table of transitions permits', () =>
  expectLanesPermitted(muster.database.pool, ['submitted -> delayed', 'submitted -> invalid']));

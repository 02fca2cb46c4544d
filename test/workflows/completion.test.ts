import { defineHandler } from '../../handlers';
import type { CompletionSignal } from '../../workflows/definitions';
import { completeSignal } from '../../workflows/definitions';
import { monitorWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import type { Skipping } from '../helpers/skippingMuster';
import { startSkipping } from '../helpers/timeSkipping';

/**
 * H7 on the skipping server: told by signal, in time; what is not told is asked about and given up
 * as before.
 *
 * @slow
 */

let muster: Skipping;
const calls: { at: number; id: string }[] = [];
const asked: { at: number; references: readonly string[] }[] = [];

const handler = defineHandler({
  name: 'told',
  target: (payload) => (payload as { to: string }).to,
  service: (target) => target,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: async (batch) => {
    calls.push({ at: await muster.now(), id: batch.tasks[0]!.id });
    return { status: 'accepted', reference: `r-${batch.tasks[0]!.id}` };
  },
  status: async (references) => {
    asked.push({ at: await muster.now(), references });
    return references.map((reference) => ({ reference, status: 'pending' }));
  },
  results: () => [],
  poll: { everyMs: 60_000, deadlineMs: 150_000 },
});

beforeAll(async () => {
  muster = await startSkipping([handler]);
});
afterAll(() => muster.stop());
beforeEach(() => muster.begin());

const submit = async (to: string, n: number): Promise<number> =>
  (await muster.client.submitBatch('told', to, [{ id: `${to}-${n}`, payload: { to } }])).batch;
const status = async (batch: number): Promise<string> => (await muster.client.batchStatus(batch))!.status;
const tell = (told: CompletionSignal): Promise<unknown> =>
  muster.env.client.workflow.signalWithStart('monitor', {
    workflowId: monitorWorkflowId(muster.prefix, 'told'),
    taskQueue: workflowTaskQueue(muster.prefix),
    args: [{ handler: 'told' }],
    signal: completeSignal,
    signalArgs: [told],
  });

test('a signal 10 s after the acceptance: committed then, never asked about; the next is sent then, and asked about 60 s later [H7]', async () => {
  const [first, second] = [await submit('po', 1), await submit('po', 2)];
  await muster.skipTo(10_000);
  expect(calls.map(({ id }) => id)).toEqual(['po-1']);
  await tell({ reference: 'r-po-1', results: [{ id: 'po-1', status: 'ok' }] });
  await eventually(async () => (await status(first)) === 'committed');
  await muster.settle();
  expect(calls.map(({ at, id }) => [id, Math.floor(at / 1_000)])).toEqual([
    ['po-1', 0],
    ['po-2', 10],
  ]);
  await muster.skipTo(69_000);
  expect(asked).toEqual([]);
  await muster.skipTo(71_000);
  expect(asked.map(({ references }) => references)).toEqual([['r-po-2']]);
  await tell({ batchId: second, results: [{ index: 0, status: 'ok' }] });
  await eventually(async () => (await status(second)) === 'committed');
  await muster.skipTo(300_000);
  expect(asked).toHaveLength(1);
});

test('what nobody tells is asked about and parked past its deadline as before; then it may still be told [H7]', async () => {
  const batch = await submit('late', 1);
  await muster.skipTo(120_000);
  expect(await status(batch)).toBe('pending');
  await muster.skipTo(230_000);
  expect(await status(batch)).toBe('parked');
  await tell({ batchId: batch, results: [{ index: 0, status: 'ok' }] });
  await eventually(async () => (await status(batch)) === 'committed');
  expect(await muster.client.lane('late')).toMatchObject({ state: 'empty' });
});

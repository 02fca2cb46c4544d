import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { grantLanes } from '../../../activities/lanes/grant';
import { SubmitterRun } from '../../../activities/lanes/submitter';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import type { DispatchAnswer, GrantAnswer, TurnAnswer } from '../../../workflows/messages';
import { eventually } from '../../helpers/eventually';
import type { Bench } from '../../workflows/bench';
import { openBench } from '../../workflows/bench';
import { Downstream, items, okay } from '../downstream';

/** The slots of one submitter, which the test runs: what it holds, and what it gives up. */

const SILENT = new DefaultLogger('ERROR', () => undefined);
const NEVER = new AbortController().signal;
const downstream = new Downstream();
const handler = downstream.handler();
/** Ends the calls of the target `long`, which last until then. */
let letGo: () => void = () => undefined;

let bench: Bench;
beforeEach(async () => {
  const gate = new Promise<void>((resolve) => (letGo = resolve));
  downstream.answer = async (batch) => {
    if (batch.target === 'long') await gate;
    return okay(batch);
  };
  bench = await openBench([handler]);
  await bench.database.pool.query(
    `insert into node (id, task_queue, handlers, started_at, seen_at)
     values ('n', 'q', '{edits}', clock(), clock() + interval '1 hour')`,
  );
  await bench.client.setQueuer({ slots: 8 }); // two for a submitter
});
const begun: Promise<unknown>[] = [];
afterEach(async () => {
  letGo();
  await Promise.allSettled(begun.splice(0));
  await bench.stop();
});

const submit = async (...services: string[]): Promise<void> => {
  await bench.client.submitBatches(
    'edits',
    services.map((service) => ({ service, items: items(service) })),
  );
};
const grant = (): Promise<GrantAnswer> =>
  grantLanes(
    { pool: bench.database.pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS, log: pino({ level: 'silent' }) },
    { queuerId: 0, runId: 'r', runStartedAtMs: 1, turn: 1, live: [], mayClaim: true },
  );
/** Runs a submitter as its activity does. */
const run = async (no: number, slots: number, epoch: number): Promise<DispatchAnswer> => {
  const deps = await bench.dispatch({ epoch, dispatch: { no, slots } } as unknown as TurnAnswer, handler, 0);
  const work = (): Promise<DispatchAnswer> =>
    new SubmitterRun(deps, { ...deps.input, queuerId: 0 }, NEVER, NEVER).run();
  return new MockActivityEnvironment({}, { logger: SILENT }).run<[], DispatchAnswer, typeof work>(work);
};
const slotsHeld = async (): Promise<number[]> =>
  (await bench.database.pool.query<{ slots: number }>('select slots from submitter order by no')).rows.map(
    ({ slots }) => slots,
  );

test('a slot for which nothing is left is free for others while the other one still sends', async () => {
  await submit('long', 'short');
  const { submitters, epoch } = await grant();
  expect(submitters).toMatchObject([{ slots: 2, batches: 2 }]);
  const { no, slots } = submitters[0]!;
  const running = run(no, slots, epoch);
  begun.push(running);
  await eventually(async () => (await slotsHeld())[0] === 1, { timeoutMs: 20_000, what: 'a slot that is given up' });
  await eventually(() => downstream.inFlight === 1);
  letGo();
  expect(await running).toMatchObject({ batches: 2, tasks: 2, handedBack: 0 });
  expect(await slotsHeld()).toEqual([]);
});

test('a submitter that was taken for dead before it began sends nothing', async () => {
  await submit('short');
  const { submitters, epoch } = await grant();
  await bench.database.pool.query('delete from submitter');
  const seen = downstream.seen.length;
  expect(await run(submitters[0]!.no, 1, epoch)).toMatchObject({ batches: 0, tasks: 0 });
  expect(downstream.seen).toHaveLength(seen);
});

import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import { Allowance } from '../../../activities/calls/allowance';
import { DispatchRun } from '../../../activities/calls/dispatchRun';
import { Schedule } from '../../../activities/calls/schedule';
import { defineHandler } from '../../../handlers';
import type { HandlerOptions } from '../../../handlers';
import { readDispatch } from '../../../postgres/calls/batch';
import type { DispatchAnswer } from '../../../workflows/messages';
import { eventually } from '../../helpers/eventually';
import type { Bench } from '../bench';
import { openBench } from '../bench';

/** One dispatch, run by the test: what it begins, gives back, and offers to its leader. */

const run = { runId: 'run', runStartedAtMs: 1_000 };
const SILENT = new DefaultLogger('ERROR', () => undefined);
const calls: string[] = [];
/** Calls of these targets last until they are let go. */
const gates = new Map<string, Promise<void>>();
const opens: (() => void)[] = [];
const gated = (target: string): (() => void) => {
  let open: () => void = () => undefined;
  gates.set(target, new Promise((resolve) => (open = resolve)));
  opens.push(open);
  return open;
};
const handler = (options: Partial<HandlerOptions<{ to: string }>> = {}) =>
  defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 0 },
    leaders: 1,
    concurrency: { perTarget: 1, perHandler: 2 },
    submit: async ({ target, tasks }) => {
      calls.push(target);
      await gates.get(target);
      return { results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
    ...options,
  });

let bench: Bench;
const claimed = async (orders: ReturnType<typeof handler>, ...targets: string[]) => {
  bench = await openBench([orders]);
  await submit(...targets);
  const answer = await bench.turn(run, 1);
  return { no: answer.dispatch!.no, deps: await bench.dispatch(answer, orders) };
};
const submit = async (...targets: string[]): Promise<void> => {
  await bench.client.submit(
    'orders',
    targets.map((to) => ({ id: to, payload: { to } })),
  );
  await bench.client['connection'].settled(); // rung, too
};
const begun: Promise<unknown>[] = [];
/** Carries a dispatch to its end; `gone`: its run is gone. */
const carry = (deps: Awaited<ReturnType<typeof claimed>>['deps'], gone: AbortSignal): Promise<DispatchAnswer> => {
  const work = (): Promise<DispatchAnswer> => new DispatchRun(deps, gone).run();
  const carrying = new MockActivityEnvironment({}, { logger: SILENT }).run<[], DispatchAnswer, typeof work>(work);
  begun.push(carrying);
  return carrying;
};
beforeEach(() => {
  calls.splice(0);
  gates.clear();
});
afterEach(async () => {
  for (const open of opens.splice(0)) open();
  await Promise.allSettled(begun.splice(0));
  await bench.stop();
});

test('a call that waits for its rate is given back unmarked when the run of its leader is gone', async () => {
  const paced = handler({ rate: { limit: 1, perMs: 600_000, unit: 'calls' } });
  const { no, deps } = await claimed(paced, 'a');
  // This process has made a call just now, later than it was planned.
  const [batch] = await readDispatch(deps.pool, 1, no);
  const pace = deps.paces.of({ name: paced.name, rates: [] });
  const clock = pace.clock(batch!.aheadMs);
  await pace.turn(batch!.targetId, { calls: 1, items: 1, weight: 1 }, clock, () => false, paced.rates);
  const gone = new AbortController();
  const carrying = carry(deps, gone.signal);
  const rows = async (): Promise<unknown[]> =>
    (await deps.pool.query('select dispatch, attempt_until is not null as marked from batch')).rows;
  await eventually(async () => JSON.stringify(await rows()) === JSON.stringify([{ dispatch: no, marked: true }]));
  gone.abort();
  expect(await carrying).toMatchObject({ batches: 0, handedBack: 1 });
  expect(await rows()).toEqual([{ dispatch: null, marked: false }]);
  expect(calls).toEqual([]);
});

test('the slot of a call that has ended is offered to its leader while the other call goes on', async () => {
  const [letGoA, letGoB] = [gated('a'), gated('b')];
  const { no, deps } = await claimed(handler(), 'a', 'b');
  const carrying = carry(deps, new AbortController().signal);
  await eventually(() => calls.length === 2);
  await submit('c');
  expect(await bench.turn(run, 2, { live: [no] })).toMatchObject({ dispatch: null, heldBy: 'calls in flight' });
  const before = bench.wakes.count;
  letGoB();
  await eventually(() => bench.wakes.count > before, { timeoutMs: 20_000, what: 'a wake of its leader' });
  expect((await bench.turn(run, 3, { live: [no] })).dispatch).toMatchObject({ slots: 1 });
  letGoA();
  expect(await carrying).toMatchObject({ batches: 2 });
});

test('a dispatch whose last sign of life is old gives one before its first call', async () => {
  const { deps } = await claimed(handler(), 'a');
  await deps.pool.query(`update dispatch set seen_at = clock() - interval '12 s'`);
  const allowance = new Allowance(deps, new Schedule(1));
  expect(await allowance.begin()).toBe(true);
  const now = performance.now();
  expect([allowance.mayCall(now), allowance.mayCall(now + 10_000)]).toEqual([true, false]);
  const { rows } = await deps.pool.query(`select seen_at > clock() - interval '5 s' as fresh from dispatch`);
  expect(rows).toEqual([{ fresh: true }]);
});

import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { wakeExpiredLeaders } from '../../postgres/grouping/leaderWakes';
import { lookSignal } from '../../workflows/definitions';
import { workflowTaskQueue } from '../../workflows/naming';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import { countOf } from './histories';
import type { HistoryEvent } from './histories';
import type { OwnMuster } from './ownNode';
import { openOwn } from './ownNode';

/**
 * From one run of a leader to the next: continue-as-new at every third turn under signals, and an
 * operator who terminates it.
 */
const calls: string[] = [];
const gates = new Map<string, Promise<void>>();
const errands = (name: string, lingerMs: number, timeoutMs = 30_000): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 5 },
    linger: { lingerMs },
    leaders: 1,
    timeoutMs,
    idempotency: { by: 'batch' },
    submit: async (batch) => {
      calls.push(...batch.tasks.map(({ id }) => id));
      await Promise.all(batch.tasks.map(({ id }) => gates.get(id) ?? Promise.resolve()));
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });
const handlers = [errands('chained', 40), errands('lingering', 1_500), errands('called', 0), errands('timed', 0, 300)];

let muster: OwnMuster;
beforeEach(async () => {
  calls.splice(0);
  gates.clear();
  muster = await openOwn(handlers);
});
afterEach(() => muster.stop());

const submit = (handler: string, to: string, ...ids: string[]): Promise<unknown> =>
  muster.client.submit(
    handler,
    ids.map((id) => ({ id, payload: { to } })),
  );
const succeeded = (...ids: string[]): Promise<true> =>
  eventually(
    async () => {
      const { rows } = await muster.database.pool.query('select from task_state where state = 4 and id = any($1)', [
        ids,
      ]);
      return rows.length === ids.length;
    },
    { timeoutMs: 60_000, what: `${ids.length} tasks, ${ids.slice(0, 3).join(', ')}..., to succeed` },
  );
const terminate = async (handler: string): Promise<void> => {
  const { workflowId } = await muster.leaderOf(handler);
  await (await muster.client.temporal()).workflow.getHandle(workflowId).terminate('by an operator');
};
/** As if the time of the lease had passed. */
const expireLease = (): Promise<unknown> =>
  muster.database.pool.query(`update leader set expires_at = clock() - interval '1 s' where state <> 0`);

/** The runs of a leader, the last one first, as each names the one it continued. */
const chainOf = async (handler: string): Promise<HistoryEvent[][]> => {
  const { workflowId } = await muster.leaderOf(handler);
  const { workflow } = await muster.client.temporal();
  const runs: HistoryEvent[][] = [];
  for (let runId: string | undefined = ''; runId !== undefined;) {
    const { events } = await workflow.getHandle(workflowId, runId === '' ? undefined : runId).fetchHistory();
    runs.push(events ?? []);
    runId = events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId || undefined;
  }
  return runs;
};

const RUNS = rounds(5, 12);
test('continue-as-new at every third turn, under signals: the runs chain, nothing in flight is cut off, nothing is lost', async () => {
  await muster.startNode();
  // A task for tomorrow: the leader always has something to wait for, and never closes by itself.
  await muster.client.submit('chained', { id: 'keeper', payload: { to: 'later' }, notBefore: Date.now() + 86_400_000 });
  await terminate('chained');
  const { id: leaderId, workflowId } = await muster.leaderOf('chained');
  await (
    await muster.client.temporal()
  ).workflow.signalWithStart('leader', {
    workflowId,
    taskQueue: workflowTaskQueue(muster.prefix),
    args: [{ leaderId, handler: 'chained', name: '0', dueInMs: 0, turnsPerRun: 3 }],
    signal: lookSignal,
    signalArgs: [],
  });
  const ids: string[] = [];
  const runner = async (target: string, round: number): Promise<void> => {
    for (let i = 0; i < 5; i++) {
      ids.push(`${target}-${round}-${i}`);
      await submit('chained', target, `${target}-${round}-${i}`);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 120));
    }
  };
  // Between rounds nothing is in flight, or on a busy machine a run would rarely find the moment to
  // continue as new.
  for (let round = 0; round < 200 && (await muster.leaderOf('chained')).epoch <= RUNS; round++) {
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((target) => runner(target, round)));
    await succeeded(...ids);
  }
  expect([...calls].sort()).toEqual([...ids].sort());
  const runs = await chainOf('chained');
  const { epoch } = await muster.leaderOf('chained');
  expect(epoch).toBeGreaterThan(RUNS);
  expect(runs.length).toBeGreaterThanOrEqual(RUNS); // all of one chain: none closed by itself, none was started beside it
  expect(
    runs.reduce((sum, events) => sum + countOf(events, 'workflowExecutionSignaledEventAttributes'), 0),
  ).toBeGreaterThan(5);
  for (const events of runs.slice(1)) {
    expect(events.at(-1)!.workflowExecutionContinuedAsNewEventAttributes).toBeTruthy();
    expect(countOf(events, 'activityTaskScheduledEventAttributes')).toBe(
      countOf(events, 'activityTaskCompletedEventAttributes'),
    );
  }
});

test('a leader terminated while its batch lingers: its lease passes, the sweeper wakes the next run, the batch goes [A9]', async () => {
  await muster.startNode();
  await submit('lingering', 'se', 'l-0');
  await terminate('lingering');
  expect(await wakeExpiredLeaders(muster.database.pool, 100, 15_000)).toEqual([]); // its time has not come
  await expireLease();
  await muster.startNode({ sweepEveryMs: 200 });
  await succeeded('l-0');
  expect(calls).toEqual(['l-0']);
});

test('terminated in a call: the next task brings the next run, which goes on; the true answer of the old call counts [A9 A18]', async () => {
  await muster.startNode();
  let open = (): void => undefined;
  gates.set('c-0', new Promise((resolve) => (open = resolve)));
  await submit('called', 'se', 'c-0');
  await eventually(() => calls.length === 1, { what: 'the call' });
  await terminate('called');
  await submit('called', 'se', 'c-1');
  await submit('called', 'no', 'c-2');
  await succeeded('c-1', 'c-2');
  open();
  await succeeded('c-0');
  expect([...calls].sort()).toEqual(['c-0', 'c-1', 'c-2']);
});

test('terminated in a call that never answers, and no task comes: after the lease and the deadline of the call it is sent again [A9]', async () => {
  await muster.startNode();
  gates.set('t-0', new Promise(() => undefined));
  await submit('timed', 'se', 't-0');
  await eventually(() => calls.length === 1, { what: 'the call' });
  await terminate('timed');
  gates.delete('t-0');
  await expireLease();
  await muster.startNode({ sweepEveryMs: 200 });
  await succeeded('t-0'); // the same batch, with its key
  expect(new Set(calls)).toEqual(new Set(['t-0']));
  const { rows } = await muster.database.pool.query<{ batches: number }>('select count(*)::int as batches from batch');
  expect(rows[0]!.batches).toBe(1);
});

import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { DispatchAnswer, GrantAnswer, RollCallResponse, TurnAnswer } from '../../workflows/messages';
import { nodeTaskQueue } from '../../workflows/naming';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { prebuiltBundle as workflowBundle } from '../helpers/prebuilt';
import '../helpers/muster'; // quiets the SDK's own log

/** Dispatches that no worker begins in time: the next one waits longer. */

let client: Client;
let nativeConnection: NativeConnection;
beforeAll(async () => {
  const address = temporalAddress();
  client = new Client({ connection: await connectTo({ address }) });
  nativeConnection = await NativeConnection.connect({ address });
});
afterAll(async () => {
  await client.connection.close();
  await nativeConnection.close();
});

const REST = { epoch: 1, deposed: false, again: false, next: 'idle', dueInMs: null, heldBy: null } as const;

/**
 * Runs a workflow until it has started `n` dispatches; returns how long each was to wait for a
 * worker, in seconds.
 */
const startLimitsOf = async (
  n: number,
  type: 'leader' | 'queuer' | 'execution',
  input: object,
  activities: (taskQueue: string) => Record<string, (...args: never[]) => Promise<unknown>>,
): Promise<number[]> => {
  const taskQueue = `late-${randomUUID()}`;
  const worker = await Worker.create({
    ...{ connection: nativeConnection, taskQueue, workflowBundle },
    activities: activities(taskQueue),
  });
  return worker.runUntil(async () => {
    const handle = await client.workflow.start(type, { workflowId: taskQueue, taskQueue, args: [input] });
    let limits: number[] = [];
    await eventually(
      async () => {
        const { events } = await handle.fetchHistory();
        limits = (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
          scheduled == null ? [] : [Number(scheduled.scheduleToStartTimeout?.seconds ?? -1)],
        );
        return limits.length >= n;
      },
      { what: `${n} dispatches` },
    );
    await handle.terminate();
    return limits;
  });
};

test('a leader: each late start doubles what all before it have waited; one in time sets it back', async () => {
  const serving = { id: 'orders/0', epoch: 1, leaseMs: 1_000 };
  const nodes = ['n-1', 'n-1', 'n-1', 'n-2', 'n-1', 'n-1'];
  let turns = 0;
  let atWork: { worker: Worker; run: Promise<void> } | undefined;
  const submitBatches = (): Promise<DispatchAnswer> =>
    Promise.resolve({ batches: 1, tasks: 1, handedBack: 0, released: false });
  const claimBatches = async (taskQueue: string, live: number[]): Promise<TurnAnswer> => {
    const node = nodes[turns];
    if (live.length > 0 || node === undefined) return { ...REST, next: 'working', dispatch: null, lastReason: null };
    turns++;
    if (turns === 5) {
      const worker = await Worker.create({
        ...{ connection: nativeConnection, taskQueue: nodeTaskQueue(taskQueue, 'n-1') },
        activities: { submitBatches },
      });
      atWork = { worker, run: worker.run() };
    }
    const dispatch = { no: turns, batches: 1, tasks: 1, slots: 1, serving: { ...serving, node } };
    return { ...REST, next: 'working', dispatch, lastReason: null };
  };
  const input = { leaderId: 1, handler: 'orders', name: '0', dueInMs: 0 };
  try {
    const limits = await startLimitsOf(6, 'leader', input, (taskQueue) => ({
      claimBatches: ({ live }: { live: number[] }) => claimBatches(taskQueue, live),
    }));
    expect(limits).toEqual([1, 2, 6, 1, 18, 1]);
  } finally {
    atWork?.worker.shutdown();
    await atWork?.run;
  }
});

test('a queuer: what the grant says; without a word of it as long as before there was one', async () => {
  const submitters: GrantAnswer['submitters'] = [
    { no: 1, handler: 'orders', slots: 1, batches: 1, startLimitMs: 41_000 },
    { no: 2, handler: 'orders', slots: 1, batches: 1 },
    { no: 3, handler: 'orders', slots: 1, batches: 1, serving: { node: 'n-1', leaseMs: 10_000 }, startLimitMs: 22_000 },
    { no: 4, handler: 'orders', slots: 1, batches: 1, serving: { node: 'n-1', leaseMs: 10_000 } },
  ];
  const grantLanes = ({ turn }: { turn: number }): Promise<GrantAnswer> =>
    Promise.resolve({ ...REST, next: 'working', submitters: turn === 1 ? submitters : [] });
  expect(await startLimitsOf(4, 'queuer', { queuerId: 0 }, () => ({ grantLanes }))).toEqual([41, 20, 22, 10]);
});

test('an execution: its chunks, as a leader its dispatches', async () => {
  const settings = { rollCallMs: 1_000, requeueMs: 100, retryBaseMs: 1, leaseMs: 1_000 };
  const counts = { created: 1, inProgress: 0, done: 0, failed: 0, permanentlyFailed: 0 };
  const rest = { next: 'wait', planned: true, counts, round: 1, note: null, dueInMs: null, settings } as const;
  const rollCall = ({ turn, running }: { turn: number; running: string[] }): Promise<RollCallResponse> =>
    Promise.resolve({ ...rest, chunks: running.length > 0 ? [] : [{ id: String(turn), node: 'n-1', items: 1 }] });
  const activities = { rollCall };
  expect((await startLimitsOf(3, 'execution', { executionId: 'e' }, () => activities)).slice(0, 3)).toEqual([1, 2, 6]);
});

/** @full */

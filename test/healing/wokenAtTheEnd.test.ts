import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { lookSignal } from '../../workflows/definitions';
import type { DispatchAnswer, GrantAnswer, TurnAnswer, TurnInput } from '../../workflows/messages';
import { handlerTaskQueue } from '../../workflows/naming';
import { connectTo, temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { prebuiltBundle as workflowBundle } from '../helpers/prebuilt';
import '../helpers/muster'; // quiets the SDK's own log

/**
 * A run whose last activity has published that nothing is left may end, unless a wake came. It may
 * learn of both at once, in one workflow task, where its worker was away meanwhile: the server
 * refuses to close a run only over a signal that it has not handed out yet.
 */

let client: Client;
let connection: NativeConnection;
beforeAll(async () => {
  const address = temporalAddress();
  client = new Client({ connection: await connectTo({ address }) });
  connection = await NativeConnection.connect({ address });
});
afterAll(async () => {
  await client.connection.close();
  await connection.close();
});

const answer = { epoch: 1, deposed: false, again: false, heldBy: null } as const;
const leader = { leaderId: 1, handler: 'orders', name: '0', dueInMs: 0 };
const dispatch = { no: 1, batches: 1, tasks: 1, slots: 1 };
const submitters = [{ no: 1, handler: 'orders', slots: 1, batches: 1 }];
/** What a turn says of the wait behind it: the SDK waits in another way where it has an end. */
const untilWoken = { ...answer, next: 'working', dueInMs: null } as const;
const forAnHour = { ...answer, next: 'waiting', dueInMs: 3_600_000 } as const;
/** Each run that takes turns, in each of its waits, and the turn that begins an activity. */
const RUNS: { type: 'leader' | 'queuer'; input: object; waits: TurnAnswer | GrantAnswer }[] = [
  { type: 'leader', input: leader, waits: { ...untilWoken, dispatch, lastReason: null } },
  { type: 'leader', input: leader, waits: { ...forAnHour, dispatch, lastReason: null } },
  { type: 'queuer', input: { queuerId: 0 }, waits: { ...untilWoken, submitters } },
  { type: 'queuer', input: { queuerId: 0 }, waits: { ...forAnHour, submitters } },
];

/**
 * What happens to a run after its first turn: it is told to look, or its activity ends, each while
 * its worker is there or away.
 */
type Step = 'look' | 'end' | 'worker';

/** Answers the turns that each run has taken by its end. Those up to `working` find work left. */
const turnsOf = async (steps: readonly Step[], working: number): Promise<number[][]> => {
  const taskQueue = `end-${randomUUID()}`;
  const turns = new Map<string, number[]>();
  const ends: (() => void)[] = [];
  const take = ({ runId, turn }: TurnInput): Promise<TurnAnswer | GrantAnswer> => {
    turns.get(runId)!.push(turn);
    const { waits } = runs.find((run) => run.handle.firstExecutionRunId === runId)!;
    if (turn === 1) return Promise.resolve(waits);
    const rest = { ...waits, ...(turn > working ? { next: 'idle' as const, dueInMs: null } : {}) };
    return Promise.resolve({ ...rest, ...('submitters' in rest ? { submitters: [] } : { dispatch: null }) });
  };
  const submitBatches = async (): Promise<DispatchAnswer> => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return { batches: 1, tasks: 1, handedBack: 0, released: true };
  };
  const caller = await Worker.create({
    ...{ connection, taskQueue: handlerTaskQueue(taskQueue, 'orders') },
    activities: { submitBatches },
  });
  const runs = await Promise.all(
    RUNS.map(async ({ type, input, waits }) => {
      const handle = await client.workflow.start(type, { workflowId: randomUUID(), taskQueue, args: [input] });
      turns.set(handle.firstExecutionRunId, []);
      return { handle, waits };
    }),
  );
  const each = (work: (run: (typeof runs)[number]) => Promise<unknown>): Promise<unknown> =>
    Promise.all(runs.map(work));
  const withWorker = async (work: () => Promise<unknown>): Promise<void> => {
    const worker = await Worker.create({
      ...{ connection, taskQueue, workflowBundle, stickyQueueScheduleToStartTimeout: 1_000 },
      activities: { claimBatches: take, grantLanes: take },
    });
    await worker.runUntil(work);
  };
  const haveTaken = (n: number) => (): boolean => [...turns.values()].every((taken) => taken.length >= n);
  await caller.runUntil(async () => {
    await withWorker(() => eventually(() => ends.length === RUNS.length, { what: 'the activities to begin' }));
    for (const step of steps) {
      if (step === 'look') await each(({ handle }) => handle.signal(lookSignal));
      else if (step === 'worker') await withWorker(() => eventually(haveTaken(2), { what: 'second turns' }));
      else {
        for (const end of ends) end();
        await each(({ handle }) =>
          eventually(
            async () => {
              const { events } = await handle.fetchHistory();
              return events!.some((event) => event.activityTaskCompletedEventAttributes != null);
            },
            { what: 'the activity to end' },
          ),
        );
      }
    }
    await withWorker(() => each(({ handle }) => handle.result()));
  });
  return [...turns.values()];
};

test.each<[string, Step[], { working: number; taken: number }]>([
  ['not woken: it ends without another turn', ['end'], { working: 1, taken: 1 }],
  ['a wake behind the end of its activity, in one task with it', ['end', 'look'], { working: 1, taken: 2 }],
  ['a wake before the end of its activity, in one task with it', ['look', 'end'], { working: 1, taken: 2 }],
  ['a wake that was for nothing, long before', ['look', 'worker', 'end'], { working: 2, taken: 3 }],
])('%s', async (_what, steps, { working, taken }) => {
  const all = Array.from({ length: taken }, (_, i) => i + 1);
  expect(await turnsOf(steps, working)).toEqual(RUNS.map(() => all));
});

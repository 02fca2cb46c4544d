import { randomUUID } from 'node:crypto';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { handlerTaskQueue } from '../../../workflows/naming';
import type { DispatchAnswer, TurnAnswer, TurnInput } from '../../../workflows/messages';
import { connectTo, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import '../../helpers/muster'; // quiets the SDK's own log
import { prebuiltBundle } from '../../helpers/prebuilt';

/**
 * The leader workflow on the dev server, its activities written by the test: an order of events
 * that the store alone cannot force.
 */
const turns: TurnInput[] = [];
const answer = (change: Partial<TurnAnswer>): TurnAnswer => ({
  deposed: false,
  epoch: 1,
  dispatch: null,
  again: false,
  next: 'waiting',
  dueInMs: null,
  lastReason: null,
  heldBy: null,
  ...change,
});

test('a dispatch that stepped down for its leader before a late wake took a turn does not end the run [A14]', async () => {
  let end: ((answer: DispatchAnswer) => void) | null = null;
  const prefix = `late-${randomUUID()}`;
  const activities = {
    // Turn 1 claims; turn 2, of a wake for nothing, publishes that it waits for the dispatch,
    // after that one's release; turn 3 finds nothing.
    claimBatches: (input: TurnInput): Promise<TurnAnswer> => {
      turns.push(input);
      const dispatch = { no: 1_000_001, batches: 1, tasks: 1, slots: 1 };
      return Promise.resolve(answer(input.turn === 1 ? { dispatch } : input.turn === 2 ? {} : { next: 'idle' }));
    },
    submitBatches: () => new Promise<DispatchAnswer>((resolve) => (end = resolve)),
  };
  const connection = await NativeConnection.connect({ address: temporalAddress() });
  const client = new Client({ connection: await connectTo({ address: temporalAddress() }) });
  const common = { connection, activities, workflowBundle: prebuiltBundle };
  const leaders = await Worker.create({ ...common, taskQueue: prefix });
  const calls = await Worker.create({ connection, activities, taskQueue: handlerTaskQueue(prefix, 'h') });
  await Promise.all([
    calls.runUntil(() =>
      leaders.runUntil(async () => {
        const input = { leaderId: 1, handler: 'h', name: '0', dueInMs: 0, turnsPerRun: 500 };
        const run = await client.workflow.start('leader', { workflowId: prefix, taskQueue: prefix, args: [input] });
        await eventually(() => turns.length === 1, { what: 'the first turn' });
        await run.signal('look');
        await eventually(() => turns.length === 2, { what: 'the turn of the late wake' });
        await eventually(() => end !== null, { what: 'the dispatch' });
        end!({ batches: 1, tasks: 1, handedBack: 0, released: true });
        await run.result();
      }),
    ),
  ]);
  await client.connection.close();
  await connection.close();
  expect(turns.map(({ turn, live }) => [turn, live])).toEqual([
    [1, []],
    [2, [1_000_001]],
    [3, []],
  ]);
});

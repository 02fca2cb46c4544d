import { Context } from '@temporalio/activity';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { TakeAnswer } from '../../../activities/accepted/takeSignalled';
import type { PollAnswer } from '../../../workflows/definitions';
import { completeSignal } from '../../../workflows/definitions';
import { handlerTaskQueue, monitorWorkflowId } from '../../../workflows/naming';
import type { UnreadRun } from '../../../workflows/planning/unread';
import { testServerPath } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { countOf } from '../../workflows/histories';
import { prebuiltBundle as workflowBundle } from '../../helpers/prebuilt';

/** Completions by signal are read beside a monitor's looks, also while it continues as new. */

const ends = ['workflowTaskCompletedEventAttributes', 'workflowExecutionContinuedAsNewEventAttributes'];

interface Taken {
  handler: string;
  unread: UnreadRun[];
  running?: { runId: string; wanted: number };
}

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: testServerPath() } },
  });
});
afterAll(() => env.teardown());

test('a monitor that continues as new waits for the completions that it reads, and its next run reads those that came meanwhile', async () => {
  const prefix = 'beside';
  const workflowId = monitorWorkflowId(prefix, 'told');
  const takes: Taken[] = [];
  let looks = 0;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const pollAccepted = async (): Promise<PollAnswer> => {
    await eventually(() => takes.length > 0); // the first look ends beside a reading
    return { asked: 0, settled: 0, dueInMs: ++looks < 110 ? 0 : null };
  };
  const takeSignalled = async (input: Taken): Promise<TakeAnswer> => {
    takes.push(input);
    if (takes.length > 1) return { unread: [], completed: 3, repeated: 0, handedOn: 0 };
    const { heartbeat } = Context.current();
    const beat = setInterval(heartbeat, 1_000);
    await released;
    clearInterval(beat);
    return { unread: [{ runId: input.running!.runId, taken: 1 }], completed: 1, repeated: 0, handedOn: 0 };
  };
  const connection = env.nativeConnection;
  const runs = await Worker.create({ connection, taskQueue: prefix, workflowBundle });
  const calls = await Worker.create({
    connection,
    taskQueue: handlerTaskQueue(prefix, 'told'),
    activities: { pollAccepted, takeSignalled },
  });
  const tell = () =>
    env.client.workflow.signalWithStart('monitor', {
      workflowId,
      taskQueue: prefix,
      args: [{}],
      signal: completeSignal.name,
      signalArgs: [],
    });
  await calls.runUntil(
    runs.runUntil(async () => {
      try {
        const { signaledRunId: first } = await tell();
        const handle = env.client.workflow.getHandle(workflowId);
        const seen = async (counted: Parameters<typeof countOf>[1]): Promise<number> => {
          const { events } = await env.client.workflow.getHandle(workflowId, first).fetchHistory();
          // What it decides upon an event is there by then.
          return ends.some((name) => name in events!.at(-1)!) ? countOf(events!, counted) : 0;
        };
        await eventually(async () => (await seen('activityTaskCompletedEventAttributes')) === 100, {
          timeoutMs: 60_000,
        });
        for (let told = 0; told < 3; told++) await tell();
        await eventually(async () => (await seen('workflowExecutionSignaledEventAttributes')) === 4);
        // It has looked 100 times, and waits for the reading that is in progress.
        expect((await handle.describe()).runId).toBe(first);
        expect(takes).toHaveLength(1);
        release();
        release();
        await handle.result();
        expect(takes.slice(1)).toMatchObject([{ handler: 'told', unread: [{ runId: first, taken: 1 }, { taken: 0 }] }]);
        expect(takes[1]!.unread[1]!.runId).not.toBe(first);
        expect(looks).toBeGreaterThan(100);
      } finally {
        release(); // the worker ends no sooner
      }
    }),
  );
});

import { ApplicationFailure } from '@temporalio/common';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { TakeAnswer, TakeInput } from '../../../activities/accepted/takeSignalled';
import { completeSignal } from '../../../workflows/definitions';
import { handlerTaskQueue, monitorWorkflowId } from '../../../workflows/naming';
import { testServerPath } from '../../helpers/database';
import { prebuiltBundle as workflowBundle } from '../../helpers/prebuilt';

/** A monitor on a time-skipping server, over activities that the test makes up. */

let env: TestWorkflowEnvironment;
beforeAll(async () => {
  env = await TestWorkflowEnvironment.createTimeSkipping({
    server: { executable: { type: 'existing-path', path: testServerPath() } },
  });
});
afterAll(() => env.teardown());

test('a monitor that has nothing to ask about stays until it has read what it was told', async () => {
  const [prefix, handler] = ['stays', 'told'];
  const connection = env.nativeConnection;
  let polls = 0;
  let reads = 0;
  const activities = {
    // Nothing is accepted, so that the run may end as far as its looks are concerned.
    pollAccepted: (): Promise<{ dueInMs: null }> => {
      polls++;
      return Promise.resolve({ dueInMs: null });
    },
    takeSignalled: ({ running }: TakeInput): Promise<TakeAnswer> => {
      if (++reads === 1) throw ApplicationFailure.nonRetryable('a history that cannot be read now');
      const { runId, wanted } = running!;
      return Promise.resolve({ unread: [{ runId, taken: wanted }], completed: wanted, repeated: 0, handedOn: 0 });
    },
  };
  const monitors = await Worker.create({ connection, taskQueue: prefix, workflowBundle });
  const served = await Worker.create({ connection, taskQueue: handlerTaskQueue(prefix, handler), activities });
  await monitors.runUntil(
    served.runUntil(async () => {
      const handle = await env.client.workflow.signalWithStart('monitor', {
        workflowId: monitorWorkflowId(prefix, handler),
        taskQueue: prefix,
        args: [{ handler }],
        signal: completeSignal,
        signalArgs: [{ reference: 'r/1', status: 'done' }],
      });
      await handle.result();
      expect(reads).toBe(2);
      expect(polls).toBeGreaterThan(0);
      await Worker.runReplayHistory({ workflowBundle }, await handle.fetchHistory(), handle.workflowId);
    }),
  );
});

import type { Client as TemporalClient } from '@temporalio/client';
import type { CompletionSignal, MonitorInput } from '../../workflows/definitions';
import { completeSignal, lookSignal } from '../../workflows/definitions';
import { completionWorkflowId, monitorWorkflowId, workflowTaskQueue } from '../../workflows/naming';
import { wakeMonitor } from '../../workflows/wake';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import type { Scenario } from './scenarios';
import { Requests } from '../../workflows/temporal/requests';

/** A monitor that counts what is signalled to it, and has an activity read it from the history. */

const accepting: Scenario['handler'] = { submit: async () => ({ status: 'accepted' as const, reference: 'r-1' }) };

const submitted = async (muster: TestMuster): Promise<TemporalClient> => {
  await muster.client.submit('recorded', { id: 't-0', payload: { n: 0 } });
  await eventually(async () => {
    const { batch } = (await muster.client.getTask('t-0'))!;
    return batch !== null && (await muster.client.batch(batch))!.reference !== null;
  });
  return muster.client.temporal();
};
const tell = (
  muster: TestMuster,
  input: MonitorInput,
  ...told: [CompletionSignal]
): Promise<{ signaledRunId: string }> =>
  muster.client.temporal().then((temporal) =>
    temporal.workflow.signalWithStart('monitor', {
      workflowId: monitorWorkflowId(muster.prefix, 'recorded'),
      taskQueue: muster.prefix,
      args: [input],
      signal: completeSignal,
      signalArgs: told,
    }),
  );
const done: CompletionSignal = { reference: 'r-1', results: [{ id: 't-0', status: 'ok' }] };
const stranger: CompletionSignal = { reference: 'r-1', results: [{ id: 'stranger', status: 'ok' }] };

export const signalScenarios: Scenario[] = [
  {
    // One is refused, and goes to a separate workflow; the other is taken by the activity.
    name: 'signals-read',
    handler: accepting,
    run: async (muster) => {
      const temporal = await submitted(muster);
      await tell(muster, { handler: 'recorded' }, stranger);
      await tell(muster, { handler: 'recorded' }, done);
      await muster.client.waitFor('t-0', { timeoutMs: 60_000 });
      await wakeMonitor(new Requests(temporal), muster.prefix, 'recorded'); // it ends: nothing is left
    },
  },
  {
    // As a run that continued as new leaves it to the next: all of an earlier run is read first.
    name: 'signals-carried',
    handler: accepting,
    run: async (muster) => {
      const temporal = await submitted(muster);
      const { signaledRunId: runId } = await tell(muster, { handler: 'recorded' }, done);
      await muster.client.waitFor('t-0', { timeoutMs: 60_000 });
      const handle = temporal.workflow.getHandle(monitorWorkflowId(muster.prefix, 'recorded'));
      await wakeMonitor(new Requests(temporal), muster.prefix, 'recorded');
      await eventually(async () => (await handle.describe()).status.name !== 'RUNNING');
      await temporal.workflow.signalWithStart('monitor', {
        workflowId: handle.workflowId,
        taskQueue: workflowTaskQueue(muster.prefix),
        args: [{ handler: 'recorded', unread: [{ runId, taken: 0 }] }],
        signal: lookSignal,
      });
    },
  },
  {
    // What it left is read by a workflow that the sweeper starts.
    name: 'monitor-terminated',
    handler: accepting,
    run: async (muster) => {
      const temporal = await submitted(muster);
      const { signaledRunId: runId } = await tell(muster, { handler: 'recorded' }, done);
      await temporal.workflow.getHandle(monitorWorkflowId(muster.prefix, 'recorded'), runId).terminate();
      const reader = temporal.workflow.getHandle(completionWorkflowId(muster.prefix, 'recorded', `of-${runId}`));
      await eventually(async () =>
        reader.describe().then(
          ({ status }) => status.name === 'COMPLETED',
          () => false, // not there yet
        ),
      );
      await muster.client.waitFor('t-0', { timeoutMs: 60_000 });
      await wakeMonitor(new Requests(temporal), muster.prefix, 'recorded');
    },
  },
];

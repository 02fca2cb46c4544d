import type { Client as TemporalClient, WorkflowExecutionDescription } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { temporal as proto } from '@temporalio/proto';
import { measureTimers } from '../../workers/temporal/timerProbe';
import { lookSignal } from '../../workflows/definitions';
import { executionWorkflowId } from '../../workflows/naming';
import { executionStart } from '../../workflows/planning/webUi/starts';
import { eventually } from '../helpers/eventually';
import type { ShownWorld } from './world';
import { openShown } from './world';

/** What Temporal's Web UI shows of each of Muster's workflows, as the server has it. */

const DASHBOARD = 'https://muster.example.com';
let world: ShownWorld;
let temporal: TemporalClient;
beforeAll(async () => {
  world = await openShown(`${DASHBOARD}/`);
  temporal = await world.muster.client.temporal();
}, 120_000);
afterAll(() => world.stop());

type HistoryEvent = proto.api.history.v1.IHistoryEvent;
type Kind = keyof ShownWorld['ids'];

const describe_ = (id: string): Promise<WorkflowExecutionDescription> => temporal.workflow.getHandle(id).describe();
const eventsOf = async (id: string): Promise<HistoryEvent[]> =>
  (await temporal.workflow.getHandle(id).fetchHistory()).events ?? [];

/** An activity, a timer or a local activity: what a person sees as a line of the history. */
const isCommand = (event: HistoryEvent): boolean =>
  event.activityTaskScheduledEventAttributes != null ||
  event.timerStartedEventAttributes != null ||
  event.markerRecordedEventAttributes?.markerName === 'core_local_activity';
const summaryOf = ({ userMetadata }: HistoryEvent): string | null =>
  userMetadata?.summary == null ? null : defaultPayloadConverter.fromPayload<string>(userMetadata.summary);
const summariesOf = async (id: string): Promise<(string | null)[]> =>
  (await eventsOf(id)).filter(isCommand).map(summaryOf);
const detailsOf = async (id: string): Promise<string> =>
  (
    await temporal.workflow
      .getHandle(id)
      .query<{ currentDetails: string }>('__temporal_workflow_metadata')
      .catch(() => ({ currentDetails: '' }))
  ).currentDetails;

interface Shown {
  summary: RegExp;
  details: RegExp;
  memo: object;
  page: string;
  /** Summaries of activities, local activities and timers, each of which is in the history. */
  events: RegExp[];
  /** Null: the run has no current details. */
  current: RegExp;
}
const page = (place: string): string => `${DASHBOARD}/#/${place}`;

const shown = (): [Kind, Shown][] => [
  [
    'leader',
    {
      summary: /^Leader of orders, set \S+$/,
      details:
        /^Forms the batches of handler \*\*orders\*\*[^]*- `muster status orders`: [^]*- Cancel: it begins nothing/,
      memo: { muster: 'leader', handler: 'orders', set: expect.any(String) },
      page: page('handlers/orders'),
      events: [/^claims batches$/, /^1 batch, 1 task$/],
      current: /^\*\*orders\*\*, set/,
    },
  ],
  [
    'queuer',
    {
      summary: /^Queuer of partition 0$/,
      details: /^Grants submitters to lanes[^]*- `muster queuer`: [^]*- Cancel: it begins nothing more/,
      memo: { muster: 'queuer', queuer: 0 },
      page: page('lanes'),
      events: [/^grants lanes$/, /^1 submitter, 1 batch to begin with$/],
      current: /^\*\*Queuer\*\* of partition 0/,
    },
  ],
  [
    'execution',
    {
      summary: new RegExp(`^Execution ${world.execution}$`),
      details: /^Hands the items of an execution to nodes[^]*- Cancel: the execution is cancelled/,
      memo: { muster: 'execution', execution: world.execution },
      page: page(`executions/${world.execution}`),
      events: [/^calls the roll$/, /^2 items on /],
      current: /in progress/,
    },
  ],
  [
    'monitor',
    {
      summary: /^Asks what became of accepted batches of renders$/,
      details: /^Polls the batches that the downstream of handler \*\*renders\*\*/,
      memo: { muster: 'monitor', handler: 'renders' },
      page: page('handlers/renders'),
      events: [/^accepted batches of renders$/, /^next question$/],
      current: /^\*\*Monitor of renders\*\*[^]*asked/,
    },
  ],
  [
    'completion',
    {
      summary: /^What became of a batch of orders$/,
      details: /^Has a worker that serves \*\*orders\*\* record/,
      memo: { muster: 'completion', handler: 'orders' },
      page: page('handlers/orders'),
      events: [/^looks for the handler$/, /^told about a batch of orders$/],
      current: /^Waits, a day at most, for a worker that serves \*\*orders\*\*/,
    },
  ],
  [
    'notifier',
    {
      summary: /^Delivers callbacks$/,
      details: /^Tells callers[^]*- `muster callbacks`: /,
      memo: { muster: 'notifier' },
      page: page('callbacks'),
      events: [/^delivers callbacks$/, /^next delivery$/],
      current: /^\*\*Notifier\*\*[^]*503/,
    },
  ],
  [
    'balancer',
    {
      summary: /^Spreads partitions over the nodes$/,
      details: /^Decides which node serves which partition[^]*- `muster partitions`: /,
      memo: { muster: 'balancer' },
      page: page('nodes'),
      events: [/^a round$/],
      current: /^\*\*Balancer\*\*/,
    },
  ],
];
const KINDS: Kind[] = ['leader', 'queuer', 'execution', 'monitor', 'completion', 'notifier', 'balancer'];

test.each(KINDS)('%s: summary, details, memo, summaries of events, current details, links', async (kind) => {
  const id = world.ids[kind];
  const expected = new Map(shown()).get(kind)!;
  await eventually(
    async () => {
      const summaries = await summariesOf(id);
      return expected.events.every((one) => summaries.some((summary) => one.test(summary ?? '')));
    },
    { what: async () => `${expected.events.join(', ')}: it has ${JSON.stringify(await summariesOf(id))}` },
  );
  expect((await summariesOf(id)).filter((summary) => summary === null)).toEqual([]);
  const described = await describe_(id);
  expect(await described.staticSummary()).toMatch(expected.summary);
  expect(await described.staticDetails()).toMatch(expected.details);
  expect(await described.staticDetails()).toContain(`\n\n[Open in the dashboard](${expected.page})`);
  expect(described.memo).toEqual({ ...expected.memo, dashboard: expected.page });
  await eventually(async () => expected.current.test(await detailsOf(id)), { what: () => detailsOf(id) });
  expect(await detailsOf(id)).toMatch(/\n\n\[Open in the dashboard\]\(https:\/\/muster\.example\.com\/#\/\S+\)$/);
});

test('a submitter says with its heartbeats what it sends, and a dispatch how far it is', async () => {
  const { batch } = (await world.muster.client.getTask('edit-1'))!;
  const progress = await eventually(async () => {
    const { raw } = await describe_(world.ids.queuer);
    const payload = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0];
    return payload != null && defaultPayloadConverter.fromPayload<object>(payload);
  });
  expect(progress).toEqual({ slots: 1, sending: [batch], batches: 0, tasks: 0, handedBack: 0 });
});

test('the probe of timers says what it is, although no worker runs it', async () => {
  const { prefix, node } = world.muster;
  await measureTimers({ requests: node.deps.requests, prefix });
  const described = await describe_(`${prefix}/timer-probe`);
  expect(await described.staticSummary()).toBe('Measures the delay of timers; no worker serves it');
  expect(await described.staticDetails()).toMatch(/^A worker that starts measures/);
  expect(described.memo).toEqual({ muster: 'timer-probe' });
});

test('in a workflow of a user each of our activities and timers says what it is for', async () => {
  const id = await world.runUser();
  const fanout = (await temporal.workflow.getHandle(id).result()) as string;
  expect(await summariesOf(id)).toEqual([
    `opens fan-out ${fanout}`,
    `adds 1 item to fan-out ${fanout}`,
    '2 tasks of orders',
    'until 2 tasks ended',
    `seals fan-out ${fanout}`,
    'until the fan-out has ended',
  ]);
});

test('of a run that continues as new the server drops them but the memo: the next one shows them', async () => {
  const { client, prefix } = world.muster;
  const nowhere = { functionId: 'resize', method: 'run', config: { attributes: { zone: 'none' } } };
  const { id } = await client.execute(nowhere, [['a.png']]);
  const workflowId = executionWorkflowId(prefix, id);
  const { firstExecutionRunId } = await temporal.workflow.start('execution', {
    ...{ workflowId, taskQueue: prefix, args: [{ executionId: id, turnsPerRun: 1 }] },
    ...{ workflowIdConflictPolicy: 'TERMINATE_EXISTING', ...executionStart(id) },
  });
  const first = temporal.workflow.getHandle(workflowId, firstExecutionRunId);
  await eventually(async () => (await first.describe()).historyLength > 5);
  await first.signal(lookSignal);
  await eventually(async () => (await first.describe()).status.name === 'CONTINUED_AS_NEW');
  const dashboard = page(`executions/${id}`);
  expect((await describe_(workflowId)).memo).toEqual({ muster: 'execution', execution: id, dashboard });
  await eventually(async () => /created[^]*\*\*Execution [^]*Hands the items/.test(await detailsOf(workflowId)), {
    what: () => detailsOf(workflowId),
  });
  expect(await detailsOf(workflowId)).toContain(`](${dashboard})`);
  await client.execution(id).cancel();
});

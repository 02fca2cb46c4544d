import type { Client as TemporalClient, Connection } from '@temporalio/client';
import { Client } from '@temporalio/client';
import { EndedMonitors } from '../../../workers/sweeper/endedMonitors';
import { completionWorkflowId, monitorWorkflowId } from '../../../workflows/naming';
import { connectTo, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { Requests } from '../../../workflows/temporal/requests';

/**
 * The sweeper's look for monitors that did not end by themselves, on a real server; no worker, so
 * that what it starts stays there to be seen.
 *
 * @slow
 */

let temporal: TemporalClient;
let connection: Connection;
beforeAll(async () => {
  connection = await connectTo({ address: temporalAddress() });
  temporal = new Client({ connection });
});
afterAll(() => connection.close());

let prefix: string;
let world = 0;
beforeEach(() => void (prefix = `ended-${process.pid}-${world++}`));

interface Looked {
  counts: { endedMonitors: number };
  warned: { handler: string; status: string }[];
  look(): Promise<void>;
  sent(): unknown[];
}
const processOf = (requests = new Requests(temporal)): Looked => {
  const counts = { endedMonitors: 0 };
  const warned: Looked['warned'] = [];
  const warn = (one: unknown): void => void warned.push(one as Looked['warned'][number]);
  const monitors = new EndedMonitors({ requests, prefix, log: { warn } });
  return { counts, warned, look: () => monitors.look(counts), sent: () => requests.counts() };
};
const begin = async (handler: string, options: { workflowExecutionTimeout?: '1s' } = {}): Promise<string> => {
  const workflowId = monitorWorkflowId(prefix, handler);
  const queue = `${prefix}-unserved`;
  const { firstExecutionRunId } = await temporal.workflow.start('monitor', {
    ...options,
    workflowId,
    taskQueue: queue,
  });
  return firstExecutionRunId;
};
const end = (handler: string): Promise<unknown> =>
  temporal.workflow.getHandle(monitorWorkflowId(prefix, handler)).terminate('an operator');
/** How many of the installation's monitors a server lists as closed, which it does with a delay. */
const listed = async (n: number): Promise<void> => {
  const query = `WorkflowType = 'monitor' AND WorkflowId STARTS_WITH '${prefix}/' AND ExecutionStatus != 'Running'`;
  await eventually(async () => (await temporal.workflow.count(query)).count === n, { what: `${n} ended monitors` });
};
const reader = (handler: string, runId: string) =>
  temporal.workflow.getHandle(completionWorkflowId(prefix, handler, `of-${runId}`));

test('one that was terminated, and one that timed out: what each left is read, by one workflow', async () => {
  const terminated = await begin('terminated');
  await end('terminated');
  const timedOut = await begin('timed-out', { workflowExecutionTimeout: '1s' });
  await begin('open');
  await listed(2);
  const one = processOf();
  await one.look();
  expect(one.counts.endedMonitors).toBe(2);
  expect(one.warned.map(({ handler, status }) => `${handler} ${status}`).sort()).toEqual([
    'terminated TERMINATED',
    'timed-out TIMED_OUT',
  ]);
  expect(one.sent()).toHaveLength(2);
  expect(one.sent()).toContainEqual({ kind: 'completion', handler: 'terminated', n: 1 });
  for (const [handler, runId] of [
    ['terminated', terminated],
    ['timed-out', timedOut],
  ] as const) {
    const { events } = await reader(handler, runId).fetchHistory();
    const input = events![0]!.workflowExecutionStartedEventAttributes!.input!.payloads![0]!.data!;
    expect(JSON.parse(Buffer.from(input).toString())).toEqual({ handler, endedMonitor: runId });
  }
});

test('another process does not have it read again, not even after the reading has ended', async () => {
  const runId = await begin('jobs');
  await end('jobs');
  await listed(1);
  await processOf().look();
  const other = processOf();
  await other.look();
  await reader('jobs', runId).terminate();
  const third = processOf();
  await third.look();
  expect([other.counts.endedMonitors, third.counts.endedMonitors]).toEqual([0, 0]);
  expect([...other.warned, ...third.warned]).toEqual([]);
});

test('of more than a hundred the next look takes the rest, of all of the last day', async () => {
  const n = 103;
  await Promise.all(
    Array.from({ length: n }, async (_, i) => {
      await begin(`h${i}`);
      await end(`h${i}`);
    }),
  );
  await listed(n);
  const one = processOf();
  await one.look(); // a look lasts five seconds: on a busy machine, not even a hundred fit
  const first = one.counts.endedMonitors;
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThanOrEqual(100);
  await one.look(); // it asks the server every ten seconds
  expect(one.counts.endedMonitors).toBe(first);
  await eventually(async () => {
    await one.look();
    return one.counts.endedMonitors === n;
  });
});

test('a look at which the server is slow ends after five seconds, and the next one goes on', async () => {
  for (const handler of ['a', 'b', 'c']) {
    await begin(handler);
    await end(handler);
  }
  await listed(3);
  /** Each start is answered after 3 s: so two fit. */
  class Slow extends Requests {
    override async send<T>(...args: Parameters<typeof Requests.prototype.send<T>>): Promise<T> {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      return super.send(...args);
    }
  }
  const one = processOf(new Slow(temporal));
  await one.look();
  expect(one.counts.endedMonitors).toBe(2);
  await eventually(async () => {
    await one.look();
    return one.counts.endedMonitors === 3;
  });
});

test('what is no monitor of this installation is left alone', async () => {
  for (const workflowId of [`${prefix}/monitor/`, `other-${prefix}/monitor/jobs`]) {
    const handle = await temporal.workflow.start('monitor', { workflowId, taskQueue: `${prefix}-unserved` });
    await handle.terminate();
  }
  await temporal.workflow.start('leader', { workflowId: monitorWorkflowId(prefix, 'x'), taskQueue: prefix });
  await end('x');
  await begin('jobs');
  await end('jobs');
  await listed(2);
  const one = processOf();
  await one.look();
  expect(one.warned.map(({ handler }) => handler)).toEqual(['jobs']);
});

test('what ended while no look succeeded is read by the next one that does, however long that took', async () => {
  const clock = jest.spyOn(Date, 'now');
  try {
    const one = processOf();
    await one.look();
    await begin('jobs');
    await end('jobs');
    await listed(1);
    // Each look asks 10 s after the last; meanwhile the server was away for three hours.
    const aheadMs = 3 * 3_600_000;
    clock.mockImplementation(() => performance.timeOrigin + performance.now() + aheadMs);
    await eventually(
      async () => {
        await one.look();
        return one.counts.endedMonitors === 1;
      },
      { timeoutMs: 25_000 },
    );
  } finally {
    clock.mockRestore();
  }
});

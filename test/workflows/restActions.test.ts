import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../handlers';
import { leaderWorkflowId, monitorWorkflowId, notifierWorkflowId } from '../../workflows/naming';
import { createClient } from '../../client';
import { anotherNode } from '../helpers/anotherNode';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { rounds } from '../helpers/long';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import type { HistoryEvent } from './histories';
import { actionsOf } from './histories';

/** @full */

/**
 * Temporal actions, counted from the histories of a real server and printed, with bounds: a
 * partition without a node, a monitor without one, a long call with a backlog behind it,
 * `submitTask`. MUSTER_REST_WINDOW_MS=60000 watches the first two for a minute.
 */
const WINDOW_MS = Number(process.env['MUSTER_REST_WINDOW_MS'] ?? rounds(10_000, 20_000));
const CALLS = rounds(5, 20);

interface Work {
  to: string;
}
let letGo: () => void = () => undefined;
const gate = new Promise<void>((resolve) => (letGo = resolve));
let slowCalls = 0;
const target = ({ to }: Work): string => to;
const okay = (batch: { tasks: readonly { id: string }[] }) => ({
  results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })),
});
const slow = defineHandler<Work>({
  name: 'slow',
  target,
  limits: { maxItems: 1 },
  linger: { lingerMs: 0 },
  leaders: 1,
  concurrency: { perTarget: 1, perHandler: 1 },
  timeoutMs: 180_000,
  submit: async (batch) => {
    slowCalls++;
    await gate;
    return okay(batch);
  },
});
const zoned = defineHandler<Work>({
  name: 'zoned',
  target,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  affinity: { partitions: 1, attributes: { zone: 'eu' } },
  submit: (batch) => Promise.resolve(okay(batch)),
});
const jobs = defineHandler<Work>({
  name: 'jobs',
  target,
  leaders: 1,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: (batch) => Promise.resolve(okay(batch)),
});

/** A downstream that takes its time; the only node that has it goes. */
const later = defineHandler<Work>({
  name: 'later',
  target,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: ({ target: key }) => Promise.resolve({ status: 'accepted', reference: `job-${key}` }),
  poll: { everyMs: 200, deadlineMs: 3_600_000 },
  status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'pending' as const }))),
  results: () => Promise.resolve([]),
  cancel: () => Promise.resolve(),
});

let muster: TestMuster;
let worker: UserWorker;
beforeAll(async () => {
  const workflowBundle = await bundleWorkflows(require.resolve('../services/workflows/user'));
  muster = await startMuster([slow, zoned, jobs], {
    nodes: { attributes: { zone: 'us' } },
  });
  worker = await startUserWorker(muster, workflowBundle);
});
afterAll(async () => {
  letGo();
  await worker.stop();
  await muster.stop();
});

/** Of all runs under this id. */
const actions = async (workflowId: string): Promise<number> => {
  let sum = 0;
  for (const events of await historiesOf(workflowId)) sum += actionsOf(events);
  return sum;
};
const historiesOf = async (workflowId: string): Promise<HistoryEvent[][]> => {
  const temporal = await muster.client.temporal();
  const histories: HistoryEvent[][] = [];
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = "${workflowId}"` }))
    histories.push((await temporal.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? []);
  return histories;
};
/** Seconds of the longest timer that a run under this id has started. */
const longestWait = async (workflowId: string): Promise<number> =>
  Math.max(
    0,
    ...(await historiesOf(workflowId))
      .flat()
      .map(({ timerStartedEventAttributes: timer }) => Number(timer?.startToFireTimeout?.seconds ?? 0)),
  );
const leaderOf = async (handler: string): Promise<string> => {
  const { rows } = await muster.database.pool.query<{ id: number; name: string }>(
    'select l.id, l.name from leader l join handler h on h.id = l.handler_id where h.name = $1',
    [handler],
  );
  return leaderWorkflowId(muster.prefix, handler, rows[0]!.name, rows[0]!.id);
};
/** So many a minute; in a short window it is this many actions, which may all fall into it. */
const bound = (aMinute: number, inWindow: number): number => Math.max(aMinute, (inWindow * 60_000) / WINDOW_MS);
const perMinute = async (workflowId: string, what: string): Promise<number> => {
  const before = await actions(workflowId);
  await sleep(WINDOW_MS);
  const cost = ((await actions(workflowId)) - before) * (60_000 / WINDOW_MS);
  process.stdout.write(`actions a minute, ${what}: ${cost}\n`);
  return cost;
};

test('a partition without a node, and a long call with a backlog behind it', async () => {
  await muster.client.submit('zoned', { id: 'z', payload: { to: 'z' } });
  await muster.client.submit('slow', { id: 'a', payload: { to: 'x' } });
  await eventually(() => slowCalls === 1, { timeoutMs: 30_000 });
  const backlog = Array.from({ length: 20 }, (_, i) => ({ id: `b-${i}`, payload: { to: `y${i}` } }));
  await muster.client.submit('slow', backlog);
  const unservedLeader = await leaderOf('zoned');
  await eventually(async () => (await longestWait(unservedLeader)) >= 8, { what: 'waits that have become long' });
  const [unserved, busy] = await Promise.all([
    perMinute(unservedLeader, 'a leader whose partition no node can hold'),
    perMinute(await leaderOf('slow'), 'a long call with a backlog behind it'),
  ]);
  // A look each 16 s and 32 s; a signal and a turn each lease, or none.
  expect(unserved).toBeLessThanOrEqual(14);
  expect(busy).toBeLessThanOrEqual(bound(3, 1));
  letGo();
});

test('a monitor whose handler no node serves any more', async () => {
  const only = await anotherNode(muster, [later]);
  const client = createClient({
    databaseUrl: muster.database.url,
    handlers: [later],
    prefix: muster.prefix,
    temporal: { address: temporalAddress() },
  });
  for (const to of ['a', 'b', 'c']) await client.submit('later', { id: `later-${to}`, payload: { to } });
  const isAccepted = async (): Promise<boolean> =>
    (await muster.database.pool.query('select from batch where reference is not null')).rowCount === 3;
  await eventually(isAccepted, { what: 'three accepted batches' });
  const monitor = monitorWorkflowId(muster.prefix, 'later');
  const before = await actions(monitor);
  await eventually(async () => (await actions(monitor)) > before + 20, { what: 'a monitor that asks and asks' });
  await only.stop();
  await client.cancel(['later-a']); // a call to make, that nobody can make either
  await client.close();
  expect(await perMinute(monitor, 'a monitor whose handler no node serves')).toBeLessThanOrEqual(bound(12, 4));
}, 240_000);

test('submitTask from a workflow, one call after another', async () => {
  const temporal = await muster.client.temporal();
  const users: string[] = [];
  for (let i = 0; i < CALLS; i++) {
    const workflowId = `${muster.prefix}-user-${i}`;
    users.push(workflowId);
    await temporal.workflow.execute('one', {
      workflowId,
      taskQueue: worker.taskQueue,
      args: ['jobs', `w-${i}`, { to: 'w' }, { prefix: muster.prefix }],
    });
  }
  await sleep(1_000);
  const each = async (ids: readonly string[]): Promise<number> =>
    (await Promise.all(ids.map(actions))).reduce((sum, n) => sum + n, 0) / CALLS;
  const parts = {
    user: await each(users),
    leader: await each([await leaderOf('jobs')]),
    notifier: await each([notifierWorkflowId(muster.prefix)]),
  };
  const sum = parts.user + parts.leader + parts.notifier;
  process.stdout.write(`actions of a submitTask: ${sum} ${JSON.stringify(parts)}\n`);
  expect(sum).toBeLessThanOrEqual(11);
});

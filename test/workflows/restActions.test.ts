import { setTimeout as sleep } from 'node:timers/promises';
import { defineHandler } from '../../handlers';
import { leaderWorkflowId, monitorWorkflowId, notifierWorkflowId } from '../../workflows/naming';
import { createClient } from '../../client';
import { anotherNode } from '../helpers/anotherNode';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { UserWorker } from '../helpers/userWorker';
import { bundleWorkflows, startUserWorker } from '../helpers/userWorker';
import { actionsOf } from './histories';

/**
 * Temporal actions, counted from the histories of a real server and printed, with bounds: a
 * partition without a node, a monitor without one, a long call with a backlog behind it,
 * `submitTask`. MUSTER_REST_WINDOW_MS=60000 watches the first two for a minute.
 */
const WINDOW_MS = Number(process.env['MUSTER_REST_WINDOW_MS'] ?? 20_000);
const CALLS = 20;

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
  const temporal = await muster.client.temporal();
  let sum = 0;
  for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = "${workflowId}"` }))
    sum += actionsOf((await temporal.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? []);
  return sum;
};
const leaderOf = async (handler: string): Promise<string> => {
  const { rows } = await muster.database.pool.query<{ id: number; name: string }>(
    'select l.id, l.name from leader l join handler h on h.id = l.handler_id where h.name = $1',
    [handler],
  );
  return leaderWorkflowId(muster.prefix, handler, rows[0]!.name, rows[0]!.id);
};
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
  // By then the one without a node waits for 8 s and longer.
  await sleep(10_000);
  const [unserved, busy] = await Promise.all([
    perMinute(await leaderOf('zoned'), 'a leader whose partition no node can hold'),
    perMinute(await leaderOf('slow'), 'a long call with a backlog behind it'),
  ]);
  // A look each 16 s and 32 s; a signal and a turn each lease, or none.
  expect(unserved).toBeLessThanOrEqual(14);
  expect(busy).toBeLessThanOrEqual(3);
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
  expect(await perMinute(monitor, 'a monitor that asks five times a second')).toBeGreaterThan(100);
  await only.stop();
  await client.cancel(['later-a']); // a call to make, that nobody can make either
  await client.close();
  expect(await perMinute(monitor, 'a monitor whose handler no node serves')).toBeLessThanOrEqual(12);
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

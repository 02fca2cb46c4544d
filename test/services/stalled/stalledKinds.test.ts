import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { claimBatches } from '../../../activities/grouping/claim';
import { grantLanes } from '../../../activities/lanes/grant';
import { DEFAULT_NODE_SETTINGS } from '../../../activities/nodes/settings';
import { defineHandler } from '../../../handlers';
import type { HandlerOptions } from '../../../handlers/types';
import { dueExecutions } from '../../../postgres/executions/execution';
import type { Stalled } from '../../../workflows/contracts/handler';
import type { MetricsServer } from '../../../workers/metrics/server';
import { startMetrics } from '../../../workers/metrics/server';
import { STALLED_MS } from '../../../workflows/planning/liveness';
import { runCli } from '../../cli/process';
import { makeFolder } from '../../cli/world';
import { temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import type { TestNode } from '../../helpers/anotherNode';
import { anotherNode } from '../../helpers/anotherNode';

/**
 * Runs of a monitor, the notifier, the balancer, an execution and dispatches that nobody works on
 * any more, with due work in the store: each is named by verify, status, explain (or the execution
 * itself), /healthz and a gauge, and no more once a worker is back.
 *
 * @slow
 */

interface Job {
  to: string;
}
const accepted = defineHandler<Job>({
  name: 'accepted',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: (batch) => Promise.resolve({ status: 'accepted', reference: `job-${batch.target}` }),
  poll: { everyMs: 200 },
  status: (references) => Promise.resolve(references.map((reference) => ({ reference, status: 'pending' as const }))),
  results: () => Promise.resolve([]),
});
const plain: Pick<HandlerOptions<Job>, 'target' | 'limits' | 'linger' | 'submit'> = {
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: (batch) => Promise.resolve({ results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) }),
};
const told = defineHandler<Job>({ ...plain, name: 'told' });
const spread = defineHandler<Job>({ ...plain, name: 'spread', affinity: { partitions: 2 } });
const laned = defineHandler<Job>({ ...plain, name: 'laned', lane: {} });
const handlers = [accepted, told, spread, laned];

const folder = makeFolder();
let muster: TestMuster;
let metrics: MetricsServer;
let standIn: TestNode;
let executionId: string;
const query = (text: string): Promise<unknown> => muster.database.pool.query({ text });

beforeAll(async () => {
  muster = await startMuster(handlers, { callbacks: { allow: ['127.0.0.1:*'], secret: null } });
  const { client } = muster;
  await client.submit('accepted', { id: 'asked', payload: { to: 'a' } });
  await client.submit('told', { id: 'over', payload: { to: 'b' }, callback: { url: 'http://127.0.0.1:9/' } });
  await eventually(async () => (await client.getTask('over'))?.state === 'succeeded');
  await eventually(async () => (await client.getTask('asked'))?.state === 'in-progress');
  const { id } = await client.execute({ functionId: 'nobody-has-it', method: 'run', config: {} }, [['x']]);
  executionId = id;
  await eventually(async () => (await client.execution(id).status()).message !== null);
  const looks = `select from lease where resource in ('look/monitor/accepted', 'look/notifier') and expires_at > clock() - interval '1 min'`;
  await eventually(async () => (await muster.database.pool.query(looks)).rowCount === 2, { what: 'signs of looks' });
  // Nobody works any more, and the store does not know: as after a process that hangs, or polls and
  // fails.
  muster.node.shutdown();
  await eventually(async () => (await muster.database.pool.query('select from node')).rowCount === 0);
  await query(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n1', 'q', '{accepted,told,spread,laned}', clock() - interval '1 hour', clock() + interval '1 hour')`,
  );
  await client.submit('spread', { id: 'unassigned', payload: { to: 'c' } });
  await giveOut();
  metrics = await startMetrics({ pool: muster.database.pool, port: 0 });
});
afterAll(async () => {
  await metrics.stop();
  await standIn?.stop();
  await muster.stop();
  rmSync(folder, { recursive: true });
});

/** A turn of a leader and one of a queuer, whose dispatches no worker ever starts. */
const giveOut = async (): Promise<void> => {
  const { client, database } = muster;
  const { pool } = database;
  await client.submit('told', { id: 'carried', payload: { to: 'b' } });
  await client.submitBatch('laned', 'd', [{ id: 'granted', payload: { to: 'd' } }]);
  const { rows } = await pool.query<{ id: number }>(`select leader_id as id from target where key = 'b'`);
  const run = { runId: randomUUID(), runStartedAtMs: Date.now(), live: [], mayClaim: true };
  const deps = { pool, leaseMs: 15_000, nodes: DEFAULT_NODE_SETTINGS };
  // A submit does not wait for a slow ring, and before it nothing is due.
  let turn = 0;
  const claimed = await eventually(async () => {
    const input = { ...run, turn: ++turn, leaderId: rows[0]!.id };
    return (await claimBatches({ ...deps, wake: () => Promise.resolve(), tellUnsent: () => Promise.resolve() }, input))
      .dispatch;
  });
  expect(claimed).toMatchObject({ batches: 1 });
  const log = { error: () => undefined };
  expect((await grantLanes({ ...deps, log }, { ...run, turn: 1, queuerId: 0 })).submitters).toHaveLength(1);
};

const text = async (path: string): Promise<string> => (await fetch(`${metrics.url}${path}`)).text();
const gauge = async (name: string, kind: string): Promise<number> =>
  Number(new RegExp(`^${name}\\{kind="${kind}"\\} ([\\d.]+)`, 'm').exec(await text('/metrics'))![1]);
/** What /healthz says of the workflows; nothing: they are healthy. */
const whatStands = async (): Promise<string[]> => {
  const { parts } = JSON.parse(await text('/healthz')) as {
    parts: { part: string; healthy: boolean; error: string }[];
  };
  return parts.filter(({ part, healthy }) => part === 'turns' && !healthy).map(({ error }) => error);
};
/** What `muster status` prints of the handler. */
const printed = async (handler: string): Promise<string> => {
  const env = {
    MUSTER_DATABASE_URL: muster.database.url,
    TEMPORAL_ADDRESS: temporalAddress(),
    MUSTER_PREFIX: muster.prefix,
  };
  return (await runCli(['status', handler], { cwd: folder, env })).stdout;
};
const broken = async (): Promise<string[]> =>
  (await muster.client.verify()).checks.filter(({ violations }) => violations.length > 0).map(({ name }) => name);
const stalled = async (handler: string, kind: string): Promise<Stalled | undefined> =>
  (await muster.client.status(handler))[0]!.stalled.find((one) => one.kind === kind);

/**
 * Sets what is due back so that it has been for this long, and the last sign of whoever does it.
 */
const AGE: Record<string, (ms: number) => Promise<unknown>> = {
  monitor: (ms) => query(`update batch set poll_at = clock() - ${ms} * interval '1 ms' where reference is not null`),
  notifier: (ms) =>
    query(`update notification set next_at = clock() - ${ms} * interval '1 ms', done_at = null where true`),
  balancer: (ms) =>
    query(
      `update lease set holder = null, kept_for = null, kept_until = null, expires_at = clock() - ${ms} * interval '1 ms' where resource like 'partition/%' or resource = 'assignor'`,
    ),
  execution: async (ms) => {
    await query(`update execution set resume_at = clock(), woken_at = null`);
    await dueExecutions(muster.database.pool, 10, 60_000); // as the sweeper wakes it, again and again
    await query(`update execution set woken_at = woken_at - ${ms} * interval '1 ms'`);
    await query(`update execution set resume_at = clock()`);
    await dueExecutions(muster.database.pool, 10, 60_000);
  },
  'dispatch of a leader': async (ms) => {
    const then = `clock() - ${ms} * interval '1 ms'`;
    await query(`update dispatch set started_at = ${then}, seen_at = ${then}`);
    await query(`update batch set created_at = clock() - ${ms} * interval '1 ms' where dispatch is not null`);
  },
  'dispatch of a queuer': (ms) =>
    query(`update lane_batch set granted_at = clock() - ${ms} * interval '1 ms' where status = 3`),
};
const looked = (): Promise<unknown> =>
  query(`update lease set expires_at = clock() - interval '1 hour' where resource like 'look/%'`);

const KINDS = [
  ['monitor', 'accepted', 'a monitor with overdue batches looks', 'asked', '/monitor/accepted'],
  ['notifier', 'told', 'a notifier with overdue notifications looks', 'over', '/notifier'],
  ['balancer', 'spread', 'a partition that a node can hold is given to one in time', 'unassigned', '/balancer'],
  ['execution', 'told', 'a woken execution takes a turn', null, '/execution/'],
  ['dispatch of a leader', 'told', 'a batch that a dispatch carries is called', 'carried', '/leader/told/'],
  ['dispatch of a queuer', 'laned', 'a batch that a submitter was granted is called', 'granted', '/queuer/0'],
] as const;
const kindOf = (what: string): string => what.split(' ')[0]!;

test.each(KINDS)(
  'a %s that stands still is told of by everything that looks, and not before its time',
  async (what, handler, invariant, task, workflow) => {
    const kind = kindOf(what);
    for (const age of Object.values(AGE)) await age(0);
    await looked();
    await query('update leader set woken_at = null'); // of the one without a worker, which would be told first
    await AGE[what]!(STALLED_MS - 15_000);
    expect((await whatStands()).filter((line) => line.includes(kind))).toEqual([]);
    expect(await stalled(handler, kind)).toBeUndefined();
    expect(await broken()).not.toContain(invariant);

    await AGE[what]!(STALLED_MS + 5_000);
    const found = (await stalled(handler, kind))!;
    expect(found.workflowId).toMatch(new RegExp(`^${muster.prefix}${workflow}`));
    expect(found.ms).toBeGreaterThan(STALLED_MS);
    if (kind === 'dispatch') expect(await stalled('accepted', kind)).toBeUndefined(); // another handler's
    expect(await broken()).toContain(invariant);
    await eventually(async () => (await gauge('muster_stalled', kind)) === 1, { everyMs: 300 });
    expect(await gauge('muster_oldest_stalled_seconds', kind)).toBeGreaterThan(STALLED_MS / 1_000);
    expect(await whatStands()).toEqual([
      expect.stringMatching(new RegExp(`^${kind}.* has had overdue work for \\d+ s`)),
    ]);
    expect(await printed(handler)).toMatch(
      new RegExp(`STALLED: (the )?${kind} .*workflow ${muster.prefix}${workflow}`),
    );
    const explained =
      task === null
        ? (await muster.client.execution(executionId).status()).message!
        : (await muster.client.explain(task)).text;
    expect(explained).toContain('has stalled');
    expect(explained).toContain(found.workflowId);
    expect(explained).toMatch(/if no worker is running, start one/);
    await AGE[what]!(0);
    expect(await stalled(handler, kind)).toBeUndefined();
  },
);

test('a read of results that brings none is told of, and makes no worker unhealthy', async () => {
  const readFor = async (ms: number, leaseMs = 19_000): Promise<void> => {
    for (const age of Object.values(AGE)) await age(0);
    await query('update leader set woken_at = null');
    await query(
      `update batch set poll_at = clock() + ${leaseMs} * interval '1 ms', read_at = clock() - ${ms} * interval '1 ms'
where reference is not null`,
    );
  };
  await readFor(STALLED_MS - 15_000);
  expect(await stalled('accepted', 'read')).toBeUndefined();
  expect((await muster.client.explain('asked')).text).toMatch(/its results are being read: the last came [45]\d s ago/);

  await readFor(STALLED_MS + 5_000);
  const { name, ms, workflowId } = (await stalled('accepted', 'read'))!;
  const explained = await muster.client.explain('asked');
  expect(explained).toMatchObject({ waitsFor: 'poll', nextStepInMs: null });
  expect(explained.text).toMatch(/the read of its results has stalled: none has come for 6\d s\. .*poll\.idleMs/);
  expect(name).toBe(String(explained.facts.batch!.id));
  expect(ms).toBeGreaterThan(STALLED_MS);
  expect(workflowId).toBe(`${muster.prefix}/monitor/accepted`);
  expect(await stalled('told', 'read')).toBeUndefined(); // another handler's
  expect((await muster.client.batch(explained.facts.batch!.id))!.readAt).not.toBeNull();
  await readFor(STALLED_MS + 5_000);
  await eventually(async () => (await gauge('muster_stalled', 'read')) === 1, { everyMs: 300 });
  expect(await gauge('muster_oldest_stalled_seconds', 'read')).toBeGreaterThan(STALLED_MS / 1_000);
  expect(await whatStands()).toEqual([]);
  expect(await broken()).not.toContain('a monitor with overdue batches looks');
  await readFor(STALLED_MS + 5_000);
  expect(await printed('accepted')).toMatch(
    new RegExp(`STALLED: read of batch ${name} has brought no result for \\d+ s`),
  );

  await readFor(STALLED_MS + 5_000, -1_000); // its reader is gone: a matter of the monitor
  expect(await stalled('accepted', 'read')).toBeUndefined();
  expect((await muster.client.batch(explained.facts.batch!.id))!.readAt).toBeNull();
  await readFor(STALLED_MS + 5_000, 3_600_000); // an older version polls later
  expect((await muster.client.explain('asked')).text).toMatch(/the next poll is in/);
});

test('what has a sign of a look within a minute is being worked on, however late it is', async () => {
  await looked();
  await AGE['monitor']!(3_600_000);
  await AGE['notifier']!(3_600_000);
  await query(`update lease set expires_at = clock() - interval '20 s' where resource like 'look/%'`);
  expect(await stalled('accepted', 'monitor')).toBeUndefined();
  expect(await stalled('told', 'notifier')).toBeUndefined();
});

test('what no worker serves is told as that, and does not stand', async () => {
  await looked();
  for (const age of Object.values(AGE)) await age(3_600_000);
  await query(`update node set started_at = clock() - interval '30 s'`);
  const kinds = async () => (await muster.client.status()).flatMap(({ stalled: all }) => all.map(({ kind }) => kind));
  expect((await kinds()).filter((kind) => kind !== 'leader' && kind !== 'queuer')).toEqual([]);
  await query(`update node set started_at = clock() - interval '1 hour'`);
  expect(await kinds()).toEqual(expect.arrayContaining(Object.keys(AGE).map(kindOf)));
});

test('a worker that comes back moves all of it within seconds', async () => {
  await looked();
  for (const age of Object.values(AGE)) await age(3_600_000);
  standIn = await anotherNode(muster, handlers);
  await eventually(
    async () => {
      const all = (await muster.client.status()).flatMap(({ stalled: found }) => found);
      return all.filter(({ kind }) => Object.keys(AGE).map(kindOf).includes(kind)).length === 0;
    },
    { everyMs: 300 },
  );
});

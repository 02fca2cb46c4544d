import { rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createClient } from '../../../client';
import type { Client } from '../../../client';
import { createPool } from '../../../postgres/pool';
import { Health } from '../../../workers/metrics/health';
import type { MetricsServer } from '../../../workers/metrics/server';
import { startMetrics } from '../../../workers/metrics/server';
import { askTemporal } from '../../../workers/process';
import { runCli } from '../../cli/process';
import { makeFolder } from '../../cli/world';
import { itemHandler, items } from '../../client/shop';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { startProxyOf } from '../../helpers/proxy';
import { bundleWorkflows } from '../../helpers/userWorker';
import { Downstream, items as edits } from '../../lanes/downstream';

/**
 * A worker polls, and every workflow task fails, as after a deploy that cannot replay: nothing that
 * looks may call it healthy.
 *
 * @slow
 */

Runtime.install({ logger: new DefaultLogger('ERROR') });

const folder = makeFolder();
let database: TestDatabase;
let client: Client;
let connection: NativeConnection;
let worker: Worker;
let running: Promise<void>;
let metrics: MetricsServer;
const prefix = `t-stalled-${process.pid}`;

beforeAll(async () => {
  database = await createDatabase();
  client = createClient({
    databaseUrl: database.url,
    prefix,
    temporal: { address: temporalAddress() },
    handlers: [itemHandler({ linger: { lingerMs: 0 } }), new Downstream().handler()],
  });
  connection = await NativeConnection.connect({ address: temporalAddress() });
  const workflowBundle = await bundleWorkflows(require.resolve('../workflows/stalled'));
  worker = await Worker.create({ connection, taskQueue: prefix, workflowBundle });
  running = worker.run();
  metrics = await startMetrics({
    pool: database.pool,
    port: 0,
    health: { askTemporal: () => askTemporal(connection) },
  });
  await database.pool.query(
    `insert into node (id, task_queue, handlers, started_at, seen_at) values ('n1', 'q', '{items,edits}', clock() - interval '1 hour', clock() + interval '1 hour')`,
  );
});
afterAll(async () => {
  await metrics.stop();
  worker.shutdown();
  await running;
  for (const id of [`${prefix}/leader/items/0`, `${prefix}/queuer/0`])
    await (
      await client.temporal()
    ).workflow
      .getHandle(id)
      .terminate()
      .catch(() => undefined);
  await client.close();
  await connection.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

const healthz = async (): Promise<{ status: number; text: string }> => {
  const response = await fetch(`${metrics.url}/healthz`);
  return { status: response.status, text: await response.text() };
};
/** A request that comes while `/healthz` checks gets what that check has found. */
const untilHealthzSays = (what: RegExp): Promise<unknown> => eventually(async () => what.test((await healthz()).text));
const broken = async (): Promise<string[]> =>
  (await client.verify()).checks.filter(({ violations }) => violations.length > 0).map(({ name }) => name);
/** What `muster status` prints: of one handler, and of all. */
const printed = async (handler: string): Promise<string[]> => {
  const env = { MUSTER_DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporalAddress(), MUSTER_PREFIX: prefix };
  const print = async (...args: string[]): Promise<string> =>
    (await runCli(['status', ...args], { cwd: folder, env })).stdout;
  return [await print(handler), await print()];
};
/** As if it had been so long ago. */
const age = (table: 'leader' | 'queuer', seconds: number): Promise<unknown> =>
  database.pool.query(
    `update ${table} set woken_at = woken_at - interval '${seconds} s', expires_at = clock() + interval '1 min' where woken_at is not null`,
  );
const gauge = async (kind: string): Promise<number> => {
  const line = (await (await fetch(`${metrics.url}/metrics`)).text())
    .split('\n')
    .find((one) => one.startsWith(`muster_unanswered_wakes{kind="${kind}"}`));
  return Number(line!.split(' ')[1]);
};

test('a leader that was woken and takes no turn is seen by verify, explain, status, /healthz and a gauge, with its run and the remedy', async () => {
  await client.submit('items', items('se', 'a'));
  expect([(await healthz()).status, (await client.status('items'))[0]!.stalled]).toEqual([200, []]);
  await age('leader', 40);
  await untilHealthzSays(/"part":"turns","healthy":false/);
  expect(await healthz()).toMatchObject({
    status: 503,
    text: expect.stringMatching(
      /"part":"turns","healthy":false.*leader \\"\d\\" of handler \\"items\\" was woken \d+ s ago/,
    ),
  });
  expect((await client.status('items'))[0]!.stalled).toEqual([
    { kind: 'leader', name: '0', ms: expect.any(Number), workflowId: `${prefix}/leader/items/0`, runId: null },
  ]);
  const run = `${prefix}/leader/items/0`;
  const line = `STALLED: leader 0 was woken [\\d.]+ .*ago and has taken no turn \\(workflow ${run}\\)`;
  for (const text of await printed('items')) expect(text).toMatch(new RegExp(line));
  expect(await broken()).toContain('a woken leader takes a turn');
  await eventually(async () => (await gauge('leader')) === 1, { everyMs: 300 });
  const { text, waitsFor } = await eventually(async () => {
    const explained = await client.explain('a');
    return explained.text.includes('planted') && explained;
  });
  expect(waitsFor).toBe('leader');
  expect(text).toMatch(/has stalled: it was woken \d+ s ago and has taken no turn since/);
  expect(text).toMatch(
    new RegExp(
      `Workflow ${prefix}/leader/items/0;.* the workflow task of run [0-9a-f-]{36} is at attempt \\d+, which failed last with: planted`,
    ),
  );
  expect(text).toContain(`temporal workflow terminate --workflow-id "${prefix}/leader/items/0"`);
  await database.pool.query('update leader set woken_at = null'); // a turn
  await untilHealthzSays(/"part":"turns","healthy":true/);
  expect((await healthz()).status).toBe(200);
});

test('the same of a queuer', async () => {
  await client.submitBatch('edits', 'po-1', edits('po-1', 2));
  const [{ id }] = (await database.pool.query<{ id: string }>('select id from task order by seq desc limit 1'))
    .rows as [{ id: string }];
  await age('queuer', 40);
  await untilHealthzSays(/queuer 0 was woken \d+ s ago/);
  expect((await client.status('edits'))[0]!.stalled).toMatchObject([
    { kind: 'queuer', workflowId: `${prefix}/queuer/0` },
  ]);
  expect((await client.status('items'))[0]!.stalled).toEqual([]);
  const line = `STALLED: queuer 0 was woken [\\d.]+ .*ago and has taken no turn \\(workflow ${prefix}/queuer/0\\)`;
  for (const text of await printed('edits')) expect(text).toMatch(new RegExp(line));
  expect((await printed('items'))[0]).not.toContain('STALLED');
  expect(await broken()).toContain('a woken queuer takes a turn');
  await eventually(async () => (await gauge('queuer')) === 1, { everyMs: 300 });
  const text = await eventually(async () => {
    const explained = (await client.explain(id)).text;
    return /Queuer 0 has stalled: .*failed last with: planted/.test(explained) && explained;
  });
  expect(text).toContain(`temporal workflow terminate --workflow-id "${prefix}/queuer/0"`);
});

test('a queuer is named beside many leaders that have stood for longer', async () => {
  const [{ id }] = (await database.pool.query<{ id: string }>('select id from task order by seq desc limit 1'))
    .rows as [{ id: string }];
  await database.pool.query(`
insert into leader (handler_id, name, state, expires_at, woken_at)
select h.id, 'crowd-' || i, 1, clock() + interval '1 min', clock() - interval '10 min' from handler h cross join generate_series(1, 120) i where h.name = 'items'`);
  expect((await client.status('edits'))[0]!.stalled).toMatchObject([{ kind: 'queuer', name: '0' }]);
  expect((await client.status('items'))[0]!.stalled.length).toBeGreaterThanOrEqual(100);
  expect((await printed('items'))[0]).toMatch(/STALLED: leader crowd-\d+ .*, and \d\d+ more \(workflow /);
  expect((await client.explain(id)).text).toMatch(/Queuer 0 has stalled: /);
  await untilHealthzSays(/leader \\"crowd-\d+\\" of handler \\"items\\" was woken 1\d min ago/);
  await database.pool.query(`delete from leader where name like 'crowd-%'`);
});

/** Passes bytes on, or swallows them: a connection that is half open. */
const proxy = async (): Promise<{ address: string; swallow: (on: boolean) => void; stop: () => void }> => {
  const [host, port] = temporalAddress().split(':') as [string, string];
  let swallows = false;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    for (const one of [near, far]) sockets.add(one.on('error', () => undefined));
    near.on('data', (bytes) => swallows || far.write(bytes));
    far.on('data', (bytes) => swallows || near.write(bytes));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    swallow: (on) => {
      swallows = on;
      if (!on) for (const socket of sockets) socket.destroy(); // lost bytes: the connection is of no use any more
    },
    stop: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
};

test('a Temporal that is gone: unhealthy after the grace period and not before, since when, and healthy again when it is back', async () => {
  const between = await proxy();
  const own = await NativeConnection.connect({ address: between.address });
  const health = new Health({
    pool: database.pool,
    askTemporal: () => askTemporal(own),
    silentMs: { temporal: 3_000 },
  });
  const temporal = async () => (await health.report()).parts.find(({ part }) => part === 'temporal')!;
  try {
    expect(await temporal()).toEqual({ part: 'temporal', healthy: true, failingSince: null, error: null });
    between.swallow(true);
    const sick = await eventually(async () => {
      const found = await temporal();
      return !found.healthy && found;
    });
    expect(Date.now() - new Date(sick.failingSince!).getTime()).toBeLessThan(20_000);
    expect(sick.error).toMatch(/no answer within 2000 ms|deadline|Timeout/i);
    expect((await health.report()).healthy).toBe(false);
    between.swallow(false);
    await eventually(async () => (await temporal()).healthy, { timeoutMs: 90_000 });
  } finally {
    health.stop();
    await own.close().catch(() => undefined);
    between.stop();
  }
});

test('a Postgres that gives no answer: unhealthy at once, with that as the reason', async () => {
  const own = await createDatabase(); // nothing stands in it
  const between = await startProxyOf(own.url);
  const pool = createPool({ databaseUrl: between.through(own.url) });
  const health = new Health({ pool, silentMs: { database: 3_600_000 } });
  const sick = { healthy: false, error: 'Postgres gave no answer within 2000 ms' };
  try {
    await eventually(async () => (await health.report()).healthy);
    between.stall();
    const { healthy, parts } = await health.report();
    expect([healthy, parts.find(({ part }) => part === 'turns')]).toEqual([false, expect.objectContaining(sick)]);
    expect(parts.find(({ part }) => part === 'database')!.error).toBe(sick.error);
    between.resume();
    await eventually(async () => (await health.report()).healthy);
  } finally {
    health.stop();
    between.resume();
    await pool.end();
    await between.stop();
    await own.drop();
  }
});

test('/healthz itself answers while Postgres does not: 503 with that as the reason, and then 200', async () => {
  const own = await createDatabase(); // nothing stands in it
  const between = await startProxyOf(own.url);
  const pool = createPool({ databaseUrl: between.through(own.url) });
  const served = await startMetrics({ pool, port: 0 });
  const ask = async () => {
    const askedAt = performance.now();
    const response = await fetch(`${served.url}/healthz`);
    const { healthy, parts } = (await response.json()) as {
      healthy: boolean;
      parts: { part: string; error: string }[];
    };
    const error = parts.find(({ part }) => part === 'turns')!.error;
    return { status: response.status, healthy, error, ms: performance.now() - askedAt };
  };
  try {
    await eventually(async () => (await ask()).status === 200);
    between.stall();
    const { ms, ...sick } = await ask();
    expect(sick).toEqual({ status: 503, healthy: false, error: 'Postgres gave no answer within 2000 ms' });
    // A statement without an answer is given up after some 20 s: nothing waits for that.
    expect(ms).toBeLessThan(5_000);
    between.resume();
    await eventually(async () => (await ask()).status === 200);
  } finally {
    await served.stop();
    between.resume();
    await pool.end();
    await between.stop();
    await own.drop();
  }
});

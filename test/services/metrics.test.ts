import pg from 'pg';
import { defineHandler } from '../../handlers';
import { OutcomeMeters } from '../../activities/outcomes/meters';
import { createPool } from '../../postgres/pool';
import type { HealthReport } from '../../workers/metrics/health';
import type { MetricsServer } from '../../workers/metrics/server';
import { createMetrics, startMetrics } from '../../workers/metrics/server';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

let go = (): void => undefined;
let gate: Promise<void> | null = null;
const jobs = defineHandler<{ to: string; fail?: 'unknown' | 'retry' }>({
  name: 'jobs',
  target: (work) => work.to,
  limits: { maxItems: 2 },
  linger: { lingerMs: 100 },
  retry: { maxAttempts: 1 },
  submit: async (batch) => {
    await gate;
    return { results: batch.tasks.map(({ id, payload }) => ({ id, status: payload.fail ?? ('ok' as const) })) };
  },
});

let muster: TestMuster;
let server: MetricsServer;
beforeAll(async () => {
  muster = await startMuster([jobs]);
  server = await startMetrics({ pool: muster.database.pool, port: 0, sweepCounts: muster.node.sweepCounts });
});
afterAll(async () => {
  await server.stop();
  await muster.stop();
});

const scrape = async (url = server.url): Promise<string> => (await fetch(`${url}/metrics`)).text();
/** What `/metrics` says of a worker that has worked. @slow */

/** A metric's value by its name and labels, as it stands in the text. */
const valueOf = (text: string, metric: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
};
const become = (metric: string, expected: number): Promise<unknown> =>
  eventually(async () => valueOf(await scrape(), metric) === expected, {
    everyMs: 200,
    what: async () => `${metric} ${expected}, it is ${valueOf(await scrape(), metric)}`,
  });

test('per handler: what waits and for how long, what is in flight, what is parked, what is dead', async () => {
  await scrape(); // counting begins
  gate = new Promise((resolve) => (go = resolve));
  await muster.client.submit('jobs', [
    { id: 'a', payload: { to: 'x' } },
    { id: 'b', payload: { to: 'x' } },
  ]);
  await become('muster_calls_in_flight{handler="jobs"}', 1);
  await muster.client.submit('jobs', { id: 'later', payload: { to: 'x' }, notBefore: Date.now() + 3_600_000 });
  await muster.client.pause('jobs');
  await muster.client.submit('jobs', [
    { id: 'c', payload: { to: 'x' } },
    { id: 'd', payload: { to: 'y' } },
  ]);
  await become('muster_queued_tasks{handler="jobs"}', 2);
  await become('muster_delayed_tasks{handler="jobs"}', 1);
  await become('muster_handler_paused{handler="jobs"}', 1);
  await eventually(async () => valueOf(await scrape(), 'muster_oldest_queued_seconds{handler="jobs"}')! > 1, {
    everyMs: 200,
  });
  go();
  gate = null;
  await muster.client.resume('jobs');
  await muster.client.submit('jobs', [
    { id: 'u', payload: { to: 'u', fail: 'unknown' } },
    { id: 'r', payload: { to: 'r', fail: 'retry' } },
  ]);
  await become('muster_unknown_tasks{handler="jobs"}', 1);
  await become('muster_dead_tasks{handler="jobs"}', 1);
  await become('muster_queued_tasks{handler="jobs"}', 0);
  await become('muster_oldest_queued_seconds{handler="jobs"}', 0);
  await become('muster_nodes{handler="jobs"}', 1);
  const text = await scrape();
  const leaders = ['idle', 'working', 'waiting'].map((state) =>
    valueOf(text, `muster_leaders{handler="jobs",state="${state}"}`)!,
  );
  const { rows } = await muster.database.pool.query<{ n: number }>('select count(*) as n from leader');
  expect(leaders.reduce((a, b) => a + b)).toBe(rows[0]!.n);
  expect(leaders[2]).toBeGreaterThan(0); // one waits for the task of in an hour
});

test('flush reasons are counted once each, whenever they commit', async () => {
  const reasons = async (): Promise<number[]> => {
    const text = await scrape();
    return ['size', 'linger'].map(
      (reason) => valueOf(text, `muster_batches_total{handler="jobs",reason="${reason}"}`) ?? 0,
    );
  };
  const { rows } = await muster.database.pool.query<{ size: number; linger: number }>(
    'select count(*) filter (where reason = 0) as size, count(*) filter (where reason = 3) as linger from batch',
  );
  expect(rows[0]).toEqual({ size: 1, linger: expect.any(Number) });
  await eventually(async () => JSON.stringify(await reasons()) === JSON.stringify([rows[0]!.size, rows[0]!.linger]), {
    everyMs: 500,
  });
  await scrape();
  expect(await reasons()).toEqual([rows[0]!.size, rows[0]!.linger]);
});

test('labels are bounded: no target, no task, no batch', async () => {
  const { series, targets } = {
    series: (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#')),
    targets: 200,
  };
  await muster.client.submit(
    'jobs',
    Array.from({ length: targets }, (_, i) => ({ id: `many-${i}`, payload: { to: `target-${i}` } })),
  );
  await eventually(async () => (await muster.client.getTask('many-199'))?.state === 'succeeded');
  await new Promise((resolve) => setTimeout(resolve, 1_100)); // past the cache
  const after = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  expect(after.length).toBeLessThanOrEqual(series.length + 2);
  expect(after.join('\n')).not.toMatch(/target-|many-/);
  expect(after.filter((line) => line.startsWith('muster_sweeper{found="rounds"}'))).toHaveLength(1);
});

test('tasks that wait for others: how many, and the age of the oldest', async () => {
  const { client, database } = muster;
  await client.pause('jobs');
  await client.submit('jobs', [
    { id: 'first', payload: { to: 'h' } },
    { id: 'second', payload: { to: 'h' }, dependsOn: ['first'] },
    { id: 'third', payload: { to: 'h' }, dependsOn: ['second'] },
  ]);
  await database.pool.query("update task set created_at = created_at - interval '1 hour' where id = 'second'");
  await become('muster_held_tasks{handler="jobs"}', 2);
  const age = valueOf(await scrape(), 'muster_oldest_held_seconds{handler="jobs"}');
  expect(Math.floor(age! / 3_600)).toBe(1); // hours
  await client.resume('jobs');
  await become('muster_held_tasks{handler="jobs"}', 0);
  await become('muster_oldest_held_seconds{handler="jobs"}', 0);
});

test('scrapes within a second share one reading; other paths and methods are refused', async () => {
  let statements = 0;
  const pool = createPool({ databaseUrl: muster.database.url, max: 2 });
  const connect = pool.connect.bind(pool) as (callback?: unknown) => Promise<pg.PoolClient>;
  pool.connect = ((callback?: unknown) => {
    if (callback !== undefined) return connect(callback); // a single statement: of /healthz
    statements++;
    return connect();
  }) as never;
  const own = await startMetrics({ pool, port: 0 });
  try {
    await Promise.all(Array.from({ length: 20 }, () => scrape(own.url)));
    expect(statements).toBe(1);
    expect((await fetch(`${own.url}/secret`)).status).toBe(404);
    expect((await fetch(`${own.url}/metrics`, { method: 'POST' })).status).toBe(405);
    const response = await fetch(`${own.url}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain.*version=0\.0\.4/);
  } finally {
    await own.stop();
    await pool.end();
  }
});

test('of the pool: connections in use and idle, and what waits for one', async () => {
  const pool = createPool({ databaseUrl: muster.database.url, max: 2 });
  const { registry, health } = createMetrics({ pool });
  health.stop();
  await health.report(); // its questions use connections, too
  const counts = async (): Promise<(number | undefined)[]> => {
    const text = await registry.metrics();
    return [
      valueOf(text, 'muster_connections{pool="main",state="busy"}'),
      valueOf(text, 'muster_connections{pool="main",state="idle"}'),
      valueOf(text, 'muster_connection_waits{pool="main"}'),
    ];
  };
  const [one, two] = [await pool.connect(), await pool.connect()];
  const third = pool.connect();
  expect(await counts()).toEqual([2, 0, 1]);
  one.release();
  (await third).release();
  expect(await counts()).toEqual([1, 1, 0]);
  two.release();
  await pool.end();
});

test('what may end without a call begins at 0 for each handler of the store, served here or not', async () => {
  const { pool } = muster.database;
  const outcomeMeters = new OutcomeMeters();
  const { registry, health, metrics } = createMetrics({ pool, outcomeMeters });
  health.stop();
  await metrics.refresh();
  const failed = async (): Promise<unknown> =>
    valueOf(await registry.metrics(), 'muster_task_ends_total{handler="jobs",state="failed"}');
  expect(await failed()).toBe(0);
  outcomeMeters.ended('jobs', new Map([['failed', 2]]));
  await health.report();
  expect(await failed()).toBe(2);
});

test('a store that does not answer in time: the old values, a failure counted, and /healthz says 503 when it is down for longer than a hiccup', async () => {
  const pool = createPool({ databaseUrl: muster.database.url, max: 2 });
  const own = await startMetrics({ pool, port: 0, health: { silentMs: { database: 1_000 } } });
  const lock = new pg.Client({ connectionString: muster.database.url, options: '-c search_path=muster' });
  await lock.connect();
  try {
    const before = valueOf(await scrape(own.url), 'muster_dead_tasks{handler="jobs"}');
    expect(before).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await lock.query('begin');
    await lock.query('lock table handler in access exclusive mode');
    const text = await scrape(own.url);
    expect(valueOf(text, 'muster_dead_tasks{handler="jobs"}')).toBe(before);
    expect(valueOf(text, 'muster_scrape_failures_total')).toBe(1);
    await lock.query('rollback');
    expect((await fetch(`${own.url}/healthz`)).status).toBe(200);
    await pool.end();
    expect((await fetch(`${own.url}/healthz`)).status).toBe(200); // a hiccup
    const sick = await eventually(async () => {
      const answer = await fetch(`${own.url}/healthz`);
      return answer.status === 503 && ((await answer.json()) as HealthReport);
    });
    expect(sick.parts[0]).toEqual({
      part: 'database',
      healthy: false,
      failingSince: expect.any(String),
      error: expect.stringMatching(/pool/),
    });
    const gauges = await scrape(own.url);
    expect(valueOf(gauges, 'muster_healthy{part="database"}')).toBe(0);
    expect(valueOf(gauges, 'muster_silent_seconds{part="database"}')).toBeGreaterThan(1);
  } finally {
    await lock.end();
    await own.stop();
  }
});

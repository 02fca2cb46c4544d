import pg from 'pg';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';
import { freePort } from '../../helpers/machine/freePort';
import { startCli } from '../process';
import type { World } from '../world';
import { createWorld, order } from '../world';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(() => void world.downstream.calls.splice(0));

const calls = (n: number) =>
  eventually(() => world.downstream.calls.length >= n, {
    what: () => `${n} calls, there are ${world.downstream.calls.length}`,
  });

test('SIGTERM drains: the running call ends and counts, no new one begins, exit code 0; the rest goes on with the next worker [Build 10]', async () => {
  const worker = await world.worker('--json');
  expect(JSON.parse(worker.stdout())).toMatchObject({ ready: true, handlers: ['orders', 'slow', 'narrow'] });
  const release = world.downstream.hold();
  // Above the handler's four calls in flight a target: some are running, some wait.
  await world.submit('orders', ...Array.from({ length: 500 }, (_, i) => order(`drain-${i}`, 'se', i)));
  await calls(4);
  worker.child.kill('SIGTERM');
  await worker.says(/draining/);
  await eventually(async () => (await inBatches()) === world.downstream.calls.length, {
    what: 'batches that were not sent to go back',
  });
  const sent = world.downstream.calls.length;
  release();
  expect(await worker.exit).toBe(0);
  expect(worker.stderr()).toContain('"msg":"drained"');
  expect(world.downstream.calls).toHaveLength(sent);
  const { rows } = await world.database.pool.query<{ n: number }>({
    text: 'select count(*) as n from task_state where state = 4',
  });
  expect(rows[0]!.n).toBe(sent * 50);
  const next = await world.worker();
  const all = await world.run(
    'submit orders --file - --wait --json',
    Array.from({ length: 500 }, (_, i) => JSON.stringify(order(`drain-${i}`, 'se', i))).join('\n'),
  );
  expect(all.lines().at(-1)).toMatchObject({ summary: { repeated: 500, states: { succeeded: 500 } } });
  expect(world.downstream.calls.flatMap(({ ids }) => ids)).toHaveLength(500);
  next.child.kill('SIGINT');
  expect(await next.exit).toBe(0);
  expect((await world.run('verify')).code).toBe(0);
});

/** Batches whose call was marked and is not concluded. */
const inBatches = async (): Promise<number> => {
  const { rows } = await world.database.pool.query<{ open: number; marked: number }>({
    text: 'select count(*) filter (where dispatch is not null) as open, count(*) filter (where attempt_until is not null) as marked from batch where state = 1',
  });
  return rows[0]!.open === rows[0]!.marked ? rows[0]!.marked : -1;
};

test('--metrics-port serves the store, --sdk-metrics-port the SDK; a port that is taken ends the start [Build 11]', async () => {
  const [port, sdkPort] = [await freePort(), await freePort()];
  const worker = await world.worker(`--metrics-port ${port} --sdk-metrics-port ${sdkPort}`);
  const text = async (of: number): Promise<string> => (await fetch(`http://127.0.0.1:${of}/metrics`)).text();
  expect(await text(port)).toContain('muster_queued_tasks{handler="orders"}');
  expect(await text(port)).toContain('muster_task_ends_total{handler="orders",state="dead"} 0');
  expect(await text(port)).toMatch(/^muster_temporal_requests_total\{kind="timerProbe",handler=""\} [1-9]\d*$/m);
  await world.submit('orders', order('counted', 'no'));
  const turn = /^muster_temporal_activities_total\{activity="claimBatches",handler="orders"\} [1-9]\d*$/m;
  await eventually(async () => turn.test(await text(port)), { what: () => text(port) });
  // The SDK counts slots from its first poll on, which may come after the line that says the worker
  // runs.
  await eventually(async () => (await text(sdkPort)).includes('temporal_worker_task_slots_available'), {
    what: () => text(sdkPort),
  });
  const second = world.start(`worker --metrics-port ${port}`);
  expect(await second.exit).toBe(2);
  expect(second.stderr()).toContain(`Error: --metrics-port: expected a free port, got ${port}: listen EADDRINUSE`);
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
});

test('what cannot be used ends it with code 3 and one readable message: database, Temporal, namespace, a newer schema [Build 7]', async () => {
  const port = await freePort();
  const newer = await createDatabase();
  const admin = new pg.Client({ connectionString: newer.url });
  await admin.connect();
  await admin.query("insert into muster.migration (name, run_on) values ('999999_future.needs_999999', now())");
  await admin.end();
  const start = (env: Record<string, string>) =>
    startCli(['worker', '--start-timeout', '0ms'], { cwd: world.folder, env: { ...world.env, ...env } });
  const cases = [
    [
      start({ MUSTER_DATABASE_URL: `postgres://user:hidden@127.0.0.1:${port}/db` }),
      /Postgres cannot be reached: .*ECONNREFUSED.*Check MUSTER_DATABASE_URL/,
    ],
    [
      start({ TEMPORAL_ADDRESS: `127.0.0.1:${port}` }),
      new RegExp(`Cannot connect to Temporal at 127.0.0.1:${port}: .*Check TEMPORAL_ADDRESS`),
    ],
    [
      start({ TEMPORAL_NAMESPACE: 'nowhere' }),
      new RegExp(`Temporal at ${temporalAddress()} has no namespace "nowhere"`),
    ],
    [
      start({ MUSTER_DATABASE_URL: newer.url }),
      /schema is newer than this program: it has 999999_future.needs_999999, .*Use a newer Muster/,
    ],
  ] as const;
  for (const [worker, message] of cases) {
    expect(await worker.exit).toBe(3);
    const error = worker
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('Error: '));
    expect(error).toEqual([expect.stringMatching(message)]);
    expect(worker.stderr()).not.toMatch(/^ {4}at |hidden/m);
  }
  await newer.drop();
});

import type { MetricsServer } from '../../workers/metrics/server';
import { startMetrics } from '../../workers/metrics/server';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { ended, functionsOf, lists } from './helpers';

/** What a scrape shows of executions. */

let muster: TestMuster;
let server: MetricsServer;
let hold = false;
const work = async ([kind]: readonly string[]): Promise<{ exitCode: number }> => {
  while (hold && kind === 'held') await new Promise((go) => setTimeout(go, 5));
  return { exitCode: kind === 'fails' ? 1 : 0 };
};
beforeAll(async () => {
  const executions = { ...functionsOf({ work }), retryBaseMs: 10, rollCallMs: 300, leaseMs: 1_000 };
  muster = await startMuster([], { executions });
  server = await startMetrics({ pool: muster.database.pool, port: 0, meters: muster.node.deps.meters });
});
afterAll(async () => {
  await server.stop();
  await muster.stop();
});

const scrape = async (): Promise<string> => (await fetch(`${server.url}/metrics`)).text();
const valueOf = (text: string, metric: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
};
const become = (expected: Record<string, number>): Promise<unknown> =>
  eventually(
    async () => {
      const text = await scrape();
      return Object.entries(expected).every(([metric, value]) => valueOf(text, metric) === value);
    },
    {
      everyMs: 200,
      what: async () =>
        `${JSON.stringify(expected)}, but ${(await scrape())
          .split('\n')
          .filter((line) => /^muster_(item|chunk|exec)/.test(line))
          .join('\n')}`,
    },
  );
const none = {
  'muster_executions{state="created"}': 0,
  'muster_executions{state="in-progress"}': 0,
  muster_executions_without_nodes: 0,
};

test('runs by what they left behind, how long they took, and what is open', async () => {
  hold = true;
  await become({ ...none, 'muster_item_runs_total{state="done"}': 0 });
  const execution = await muster.client.execute(
    { functionId: 'work', method: 'run' },
    [['ok'], ['fails'], ['ok'], ['held']],
    { maxAttempts: 2 },
  );
  await become({
    'muster_executions{state="in-progress"}': 1,
    'muster_execution_items{state="done"}': 2,
    'muster_execution_items{state="failed"}': 1,
    'muster_execution_items{state="in-progress"}': 1,
    muster_item_run_seconds_count: 3,
  });
  hold = false;
  await ended(execution);
  await become({
    ...none,
    'muster_item_runs_total{state="done"}': 3,
    'muster_item_runs_total{state="failed"}': 1,
    'muster_item_runs_total{state="permanently-failed"}': 1,
    muster_item_run_seconds_count: 5,
    'muster_item_run_seconds_bucket{le="+Inf"}': 5,
    'muster_chunks_given_back_total{reason="undelivered"}': 0,
  });
  // The held one took as long as it was held.
  expect(valueOf(await scrape(), 'muster_item_run_seconds_sum')).toBeGreaterThan(0.05);
});

test('chunks given back by why, and executions that wait for nodes', async () => {
  await muster.database.pool.query(
    `insert into node (id, task_queue, functions, batch, attributes, started_at, seen_at) values ('ghost', '', '{work}', true, '{"zone": "ghosts"}', clock(), clock() + interval '1 hour')`,
  );
  const execution = await muster.client.execute(
    { functionId: 'work', method: 'run', config: { attributes: { zone: 'ghosts' } } },
    lists(3),
  );
  await eventually(async () => valueOf(await scrape(), 'muster_chunks_given_back_total{reason="undelivered"}')! >= 1, {
    everyMs: 200,
  });
  await muster.database.pool.query(`delete from node where id = 'ghost'`);
  await become({ muster_executions_without_nodes: 1 });
  await execution.cancel();
  await become(none);
});

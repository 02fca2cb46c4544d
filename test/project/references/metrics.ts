import pino from 'pino';
import type { Metric, Registry } from 'prom-client';
import { FairTime } from '../../../workers/api/callers/fairTime';
import { Admission, DEFAULT_LIMITS } from '../../../workers/api/limits';
import { ApiMetrics } from '../../../workers/api/metrics';
import { ExecutionMeters } from '../../../activities/executions/meters';
import { HookMeters } from '../../../activities/hooks/meters';
import { OutcomeMeters } from '../../../activities/outcomes/meters';
import { createPool } from '../../../postgres/pool';
import { createMetrics } from '../../../workers/metrics/server';
import { PollWatch } from '../../../workers/metrics/pollWatch';
import { code, page, table } from './markdown';

/** What prom-client keeps of a metric and does not declare. */
type Kept = Metric & { name: string; help: string; type: string; labelNames: readonly string[] };

/** Every metric of a worker, of `muster api`, and where it comes from. */
export const metricsReference = async (): Promise<string> => {
  const pool = createPool({ databaseUrl: 'postgres://nobody@localhost:1/none', max: 1, applicationName: 'reference' });
  const { registry, health } = createMetrics({
    pool,
    sweepCounts: {} as never,
    meters: new ExecutionMeters(),
    hookMeters: new HookMeters(),
    outcomeMeters: new OutcomeMeters(),
    partitions: { size: 0 },
    temporal: { requests: () => [], runs: () => [] },
    health: { polls: new PollWatch('http://localhost:1') },
  });
  const admission = new Admission(DEFAULT_LIMITS);
  const fair = new FairTime(DEFAULT_LIMITS.perCaller, admission);
  const shared = { admission, fair, meters: new OutcomeMeters() };
  const api = new ApiMetrics({ main: pool, keys: pool }, shared, pino({ level: 'silent' }));
  health.stop();
  await health.report(); // its first check ends; under way, it would keep the process
  await pool.end();
  return page('Metrics', [
    [
      '`muster worker --metrics-port` serves these in the text format of Prometheus at `/metrics`. Values that',
      'are read from the store are the same from every process: aggregate them with `max`.',
    ].join(' '),
    rowsOf(registry),
    '## Metrics of the HTTP API',
    '`muster api` serves these at `/metrics`, and those of the store, of connections and of the ends that it records.',
    rowsOf(api.registry, 'muster_api_'),
  ]);
};

const rowsOf = (registry: Registry, prefix = ''): string =>
  table(
    ['metric', 'type', 'labels', 'meaning'],
    (registry.getMetricsAsArray() as unknown as Kept[])
      .filter(({ name }) => name.startsWith(prefix))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(({ name, type, labelNames, help }) => [code(name), type, labelNames.map(code).join(', '), help]),
  );

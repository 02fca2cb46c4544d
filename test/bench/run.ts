import type { BenchCase } from './cases';
import type { DownstreamReport, SentCall } from './rig/downstream';
import { actionsSince, cpuSeconds, forgetPeak, peakMb, postgresMb, readActions } from './measure';
import type { Arrival } from './report/optimum';
import { greedyCalls, lateness, percentile } from './report/optimum';
import type { Servers } from './rig/servers';
import type { Side } from './sides';
import { countTerminal, prepareStore, readArrivals, untilQuiet, untilTerminal, walPosition } from './rig/store';

/** One side, one run: what it took. */
export interface RunMeasure {
  seconds: number;
  /** Of these, until the last task was committed. */
  submitSeconds: number;
  calls: number;
  mostInFlight: number;
  walBytes: number;
  actions: Record<string, number>;
  cpuSeconds: { worker: number; client: number; postgres: number; temporal: number };
  peakMb: { worker: number; client: number; postgres: number; temporal: number };
  live?: { greedyCalls: number; p50Ms: number; p99Ms: number; mostMs: number };
}

const RUN_LIMIT_MS = 300_000;
const SAMPLE_MS = 250;

export const measureRun = async (
  servers: Servers,
  side: Side,
  benchCase: BenchCase,
  run: string,
): Promise<RunMeasure> => {
  const { postgres, temporal, downstream } = servers;
  const live = benchCase.overMs !== undefined;
  await prepareStore(side.store);
  await downstream.ask('reset', live);
  for (const pid of [side.worker.pid, side.client.pid, temporal.pid]) forgetPeak(pid);
  const cpu = () => ({
    worker: cpuSeconds(side.worker.pid),
    client: cpuSeconds(side.client.pid),
    postgres: cpuSeconds(postgres.pid, true),
    temporal: side.usesTemporal ? cpuSeconds(temporal.pid) : 0,
  });
  const sampler = new PeakSampler(postgres.pid);
  const actions = side.usesTemporal ? await readActions(temporal.metricsUrl) : new Map<string, number>();
  const [wal, cpuBefore] = [await walPosition(side.store), cpu()];

  await side.begin(run, benchCase);
  const startedAt = performance.now();
  const { tasks, targets, overMs } = benchCase;
  await side.client.ask('submit', { run, tasks, targets, overMs });
  const submitSeconds = (performance.now() - startedAt) / 1_000;
  await side.submitted(benchCase);
  await untilTerminal(side.store, tasks, RUN_LIMIT_MS);
  const seconds = (performance.now() - startedAt) / 1_000;

  const cpuAfter = cpu();
  const walBytes = (await walPosition(side.store)) - wal;
  await side.finish();
  await untilQuiet(side.store);
  const report = await downstream.ask<DownstreamReport>('report');
  await check(side, benchCase, run, report);
  return {
    seconds,
    submitSeconds,
    calls: report.calls,
    mostInFlight: report.mostInFlight,
    walBytes,
    actions: side.usesTemporal ? actionsSince(actions, await readActions(temporal.metricsUrl)) : {},
    cpuSeconds: {
      worker: cpuAfter.worker - cpuBefore.worker,
      client: cpuAfter.client - cpuBefore.client,
      postgres: cpuAfter.postgres - cpuBefore.postgres,
      temporal: cpuAfter.temporal - cpuBefore.temporal,
    },
    peakMb: {
      worker: peakMb(side.worker.pid),
      client: peakMb(side.client.pid),
      postgres: sampler.stop(),
      temporal: side.usesTemporal ? peakMb(temporal.pid) : 0,
    },
    ...(live ? { live: liveFigures(benchCase, run, await readArrivals(side.store), report.sent) } : {}),
  };
};

/** A figure of a run that lost or repeated a task would be worth nothing. */
const check = async (side: Side, { tasks }: BenchCase, run: string, report: DownstreamReport): Promise<void> => {
  const terminal = await countTerminal(side.store);
  if (report.items !== tasks || report.repeated !== 0 || terminal !== tasks)
    throw new Error(
      `bench: run ${run} of ${side.name}: expected each of ${tasks} tasks sent once and ended, got ${report.items} sent, ${report.repeated} of them again, ${terminal} ended`,
    );
};

const liveFigures = (
  { maxItems, lingerMs }: BenchCase,
  run: string,
  arrivals: ReadonlyMap<string, Arrival>,
  sent: readonly SentCall[],
): RunMeasure['live'] => {
  const late = sent.map(({ atMs, tasks }) =>
    lateness({ atMs, arrivals: tasks.map((n) => arrivals.get(`${run}-${n}`)!.atMs) }, maxItems, lingerMs),
  );
  return {
    greedyCalls: greedyCalls([...arrivals.values()], maxItems, lingerMs),
    p50Ms: percentile(late, 0.5),
    p99Ms: percentile(late, 0.99),
    mostMs: percentile(late, 1),
  };
};

class PeakSampler {
  private peak = 0;
  private readonly timer: NodeJS.Timeout;
  constructor(private readonly pid: number) {
    this.timer = setInterval(() => this.sample(), SAMPLE_MS);
    this.sample();
  }
  private sample(): void {
    this.peak = Math.max(this.peak, postgresMb(this.pid));
  }
  stop(): number {
    clearInterval(this.timer);
    this.sample();
    return this.peak;
  }
}

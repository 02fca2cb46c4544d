import type { BenchCase } from '../cases';
import { WAL_PER_BATCH, WAL_PER_TASK } from '../cases';
import { fewestCalls, median } from './optimum';
import type { RunMeasure } from '../run';

/** What a case came to: ratios of medians, each beside its goal. Pure. */

export interface CaseResult {
  case: string;
  tasks: number;
  targets: number;
  maxItems: number;
  runs: number;
  /** Muster's tasks/s against the floor that goes target by target: only for comparison. */
  ratioToFloor?: number;
  /** Against the set-based one, and one with 16 targets in its hands: both are to be reached. */
  ratioToSetFloor?: number;
  ratioToSixteen?: number;
  /** The same from the lowest to the highest run: how far to trust the medians. */
  ratioToFloorRange?: [number, number];
  calls: number;
  /** Backlog: the sum of ceil(n/B). Live: the greedy rule on the recorded arrivals. */
  callsAtBest: number;
  callsRatio: number;
  actionsPerTask: number;
  actionsPerBatch: number;
  actionsByType: Record<string, number>;
  walBytesPerTask: number;
  walBytesPerTaskAllowed: number;
  /** Of the set-based floor, the hardest one; live: of the poller. */
  floorWalBytesPerTask: number;
  /** Against the same. */
  cpuRatioToFloor: number;
  cpuMicrosecondsPerTask: Record<string, number>;
  floorCpuMicrosecondsPerTask: Record<string, number>;
  peakMb: Record<string, number>;
  floorPeakMb: Record<string, number>;
  mostCallsInFlight: Record<string, number>;
  live?: {
    p50Ms: number;
    p99Ms: number;
    mostMs: number;
    pollerP50Ms: number;
    pollerP99Ms: number;
    pollerMostMs: number;
    p99Ratio: number;
  };
  missed: string[];
}

type Runs = ReadonlyMap<string, readonly RunMeasure[]>;

export const resultOf = (benchCase: BenchCase, runs: Runs): CaseResult => {
  const { name, tasks, targets, maxItems } = benchCase;
  const muster = runs.get('muster')!;
  const floor = runs.get('target') ?? runs.get('poller')!;
  const set = runs.get('set');
  const hardest = set ?? floor;
  const live = benchCase.overMs !== undefined;
  const mid = (of: readonly RunMeasure[], value: (run: RunMeasure) => number): number => median(of.map(value));
  const ratios = muster.map((run, i) => floor[i]!.seconds / run.seconds);
  const callsAtBest = live ? mid(muster, (run) => run.live!.greedyCalls) : fewestCalls(tasks, targets, maxItems);
  const calls = mid(muster, (run) => run.calls);
  const actions = mid(muster, sumOfActions);
  const parts = ['worker', 'client', 'postgres', 'temporal'] as const;
  const cpu = (run: RunMeasure): number => parts.reduce((sum, part) => sum + run.cpuSeconds[part], 0);
  const each = (value: (part: (typeof parts)[number]) => number): Record<string, number> =>
    Object.fromEntries(parts.map((part) => [part, value(part)]));
  const result: CaseResult = {
    case: name,
    tasks,
    targets,
    maxItems,
    runs: muster.length,
    ...(live
      ? {}
      : {
          ratioToFloor: round(mid(floor, (run) => run.seconds) / mid(muster, (run) => run.seconds)),
          ratioToSetFloor: round(mid(set!, (run) => run.seconds) / mid(muster, (run) => run.seconds)),
          ratioToSixteen: round(mid(runs.get('sixteen')!, (run) => run.seconds) / mid(muster, (run) => run.seconds)),
          ratioToFloorRange: [round(Math.min(...ratios)), round(Math.max(...ratios))],
        }),
    calls,
    callsAtBest,
    callsRatio: round(
      live
        ? median(muster.map((run) => run.calls / run.live!.greedyCalls))
        : Math.max(...muster.map((run) => run.calls)) / callsAtBest,
    ),
    actionsPerTask: round(actions / tasks, 5),
    actionsPerBatch: round(actions / calls),
    actionsByType: muster.at(-1)!.actions,
    walBytesPerTask: Math.round(mid(muster, (run) => run.walBytes) / tasks),
    walBytesPerTaskAllowed: Math.round(WAL_PER_TASK + (WAL_PER_BATCH * calls) / tasks),
    floorWalBytesPerTask: Math.round(mid(hardest, (run) => run.walBytes) / tasks),
    cpuRatioToFloor: round(mid(muster, cpu) / mid(hardest, cpu)),
    cpuMicrosecondsPerTask: each((part) => Math.round((mid(muster, (run) => run.cpuSeconds[part]) / tasks) * 1e6)),
    floorCpuMicrosecondsPerTask: each((part) =>
      Math.round((mid(hardest, (run) => run.cpuSeconds[part]) / tasks) * 1e6),
    ),
    peakMb: each((part) => Math.max(...muster.map((run) => run.peakMb[part]))),
    floorPeakMb: each((part) => Math.max(...hardest.map((run) => run.peakMb[part]))),
    mostCallsInFlight: Object.fromEntries(
      [...runs].map(([side, own]) => [side, Math.max(...own.map((run) => run.mostInFlight))]),
    ),
    ...(live ? { live: liveOf(muster, floor, mid) } : {}),
    missed: [],
  };
  result.missed = missedGoals(benchCase, result);
  return result;
};

const liveOf = (
  muster: readonly RunMeasure[],
  poller: readonly RunMeasure[],
  mid: (of: readonly RunMeasure[], value: (run: RunMeasure) => number) => number,
): NonNullable<CaseResult['live']> => {
  const [p99Ms, pollerP99Ms] = [mid(muster, (run) => run.live!.p99Ms), mid(poller, (run) => run.live!.p99Ms)];
  return {
    p50Ms: round(mid(muster, (run) => run.live!.p50Ms)),
    p99Ms: round(p99Ms),
    mostMs: round(mid(muster, (run) => run.live!.mostMs)),
    pollerP50Ms: round(mid(poller, (run) => run.live!.p50Ms)),
    pollerP99Ms: round(pollerP99Ms),
    pollerMostMs: round(mid(poller, (run) => run.live!.mostMs)),
    p99Ratio: round(p99Ms / pollerP99Ms),
  };
};

const sumOfActions = (run: RunMeasure): number => Object.values(run.actions).reduce((sum, n) => sum + n, 0);
const round = (value: number, digits = 2): number => Number(value.toFixed(digits));

/**
 * Names the goals that were missed, in words; the figures are for the whole case, so a smaller one
 * may miss them.
 */
const missedGoals = ({ goal }: BenchCase, result: CaseResult): string[] => {
  const limits: [string, number | undefined, number | undefined, 'least' | 'most'][] = [
    ['ratio to the set-based floor', result.ratioToSetFloor, goal.ratio, 'least'],
    ['ratio to the floor with 16 targets', result.ratioToSixteen, goal.ratio, 'least'],
    ['processor time against the set-based floor', result.cpuRatioToFloor, goal.cpu, 'most'],
    ['calls against the best', result.callsRatio, goal.calls, 'most'],
    ['actions per task', result.actionsPerTask, goal.actionsPerTask, 'most'],
    ['actions per batch', result.actionsPerBatch, goal.actionsPerBatch, 'most'],
    ['p99 against the poller', result.live?.p99Ratio, goal.lateness, 'most'],
    ['WAL bytes per task', result.walBytesPerTask, result.walBytesPerTaskAllowed, 'most'],
  ];
  return limits
    .filter(
      ([, value, limit, kind]) =>
        value !== undefined && limit !== undefined && (kind === 'least' ? value < limit : value > limit),
    )
    .map(([what, value, limit, kind]) => `${what}: ${value}, wanted at ${kind} ${limit}`);
};

import { CASES } from '../cases';
import type { RunMeasure } from '../run';
import { tableOf } from './report';
import { resultOf } from './result';

/** What a case is held against: the floor target by target is there for comparison only. */

const backlog = CASES.find(({ name }) => name === 'backlog')!;

/** A run of so many seconds, with as much processor time of its worker. */
const run = (seconds: number, worker: number): RunMeasure => ({
  seconds,
  submitSeconds: 1,
  calls: 100,
  mostInFlight: 16,
  walBytes: 1,
  actions: {},
  cpuSeconds: { worker, client: 0, postgres: 0, temporal: 0 },
  peakMb: { worker: 1, client: 1, postgres: 1, temporal: 0 },
});
const result = (musterWorker: number) =>
  resultOf(
    backlog,
    new Map([
      ['target', [run(20, 20)]],
      ['sixteen', [run(10, 12)]],
      ['set', [run(9, 10)]],
      ['muster', [run(10, musterWorker)]],
    ]),
  );

test('time and processor time are held against the set-based floor, not against the one target by target', () => {
  const held = result(12);
  expect(held).toMatchObject({ ratioToFloor: 2, ratioToSetFloor: 0.9, ratioToSixteen: 1, cpuRatioToFloor: 1.2 });
  expect(held.floorCpuMicrosecondsPerTask).toMatchObject({ worker: 200 });
  expect(held.missed).toEqual(['processor time against the set-based floor: 1.2, wanted at most 1.1']);
  expect(tableOf([backlog], [held])).toContain('1.2 (1.1)');
});

/** Of a run that keeps every goal, with these figures in place of its own. */
const missedWith = (figures: Partial<RunMeasure>, name = 'backlog'): string[] => {
  const benchCase = CASES.find((one) => one.name === name)!;
  const live = { greedyCalls: 100, p50Ms: 1, p99Ms: 10, mostMs: 10 };
  const kept = { ...run(10, 10), ...(name === 'live' ? { live } : {}) };
  const sides = ['target', 'sixteen', 'set', 'poller'].map((side) => [side, [kept]] as const);
  return resultOf(benchCase, new Map([...sides, ['muster', [{ ...kept, ...figures }]]])).missed;
};

test.each<[Partial<RunMeasure>, RegExp, string]>([
  [{ calls: 101 }, /^calls against the best: 1\.01, wanted at most 1$/, 'backlog'],
  [{ actions: { signals: 1_000 } }, /^actions per task: 0\.02, wanted at most/, 'backlog'],
  [{ walBytes: 1e9 }, /^WAL bytes per task: 20000, wanted at most/, 'backlog'],
  [{ actions: { signals: 1_000 } }, /^actions per batch: 10, wanted at most/, 'live'],
  [
    { live: { greedyCalls: 100, p50Ms: 1, p99Ms: 100, mostMs: 100 } },
    /^p99 against the poller: 10, wanted at most/,
    'live',
  ],
])('a goal that is missed is named: %j', (figures, line, name) => {
  expect(missedWith({}, name)).toEqual([]);
  expect(missedWith(figures, name)).toEqual(expect.arrayContaining([expect.stringMatching(line)]));
});

test('a case that keeps every goal misses none', () => {
  expect(result(11).missed).toEqual([]);
});

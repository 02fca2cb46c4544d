import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { fewestCalls, greedyCalls, lateness, median, percentile } from './report/optimum';
import { CASES } from './cases';
import type { CaseResult } from './report/result';
import { resultOf } from './report/result';
import type { RunMeasure } from './run';

const BENCH = path.join(__dirname, '..', '..', 'dist', 'test', 'bench', 'bench.js');

test('the bench runs: every task once, calls equal the optimum, every figure is there', async () => {
  expect(existsSync(BENCH)).toBe(true); // by `npm run build`, which the global setup runs
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    BENCH,
    '--case',
    'many-targets',
    '--tasks',
    '1000',
    '--runs',
    '1',
  ]);
  const result = JSON.parse(stdout) as CaseResult;
  expect(result).toMatchObject({
    case: 'many-targets',
    tasks: 1_000,
    targets: 20,
    runs: 1,
    calls: 20,
    callsAtBest: 20,
  });
  for (const figure of [
    'ratioToFloor',
    'ratioToSetFloor',
    'ratioToSixteen',
    'actionsPerTask',
    'walBytesPerTask',
    'cpuRatioToFloor',
  ] as const)
    expect(result[figure]).toBeGreaterThan(0);
  for (const part of ['worker', 'client', 'postgres', 'temporal']) expect(result.peakMb[part]).toBeGreaterThan(0);
  expect(stderr).toContain('x set floor (goal)');
});

test.each([
  { floors: { set: 0.8, sixteen: 0.95 }, missed: [/^ratio to the set-based floor: 0.8, wanted at least 0.9$/] },
  { floors: { set: 1.2, sixteen: 0.5 }, missed: [/^ratio to the floor with 16 targets: 0.5, wanted at least 0.9$/] },
  { floors: { set: 0.9, sixteen: 0.9 }, missed: [] },
])('a goal is held against both hard floors: $floors', ({ floors, missed }) => {
  const backlog = CASES.find(({ name }) => name === 'backlog')!;
  const each = { worker: 1, client: 1, postgres: 1, temporal: 1 };
  const took = (seconds: number): RunMeasure[] => [
    {
      seconds,
      submitSeconds: 1,
      calls: 100,
      mostInFlight: 1,
      walBytes: 1,
      actions: {},
      cpuSeconds: each,
      peakMb: each,
    },
  ];
  const runs = new Map([
    ['muster', took(10)],
    ['target', took(1)],
    ['set', took(10 * floors.set)],
    ['sixteen', took(10 * floors.sixteen)],
  ]);
  const result = resultOf(backlog, runs);
  expect(result.missed).toEqual(missed.map((line) => expect.stringMatching(line)));
});

describe('what the calls are held against', () => {
  test.each([
    [50_000, 50, 500, 100],
    [400_000, 50, 500, 800],
    [50_000, 1_000, 500, 1_000],
    [1_001, 2, 500, 3],
    [3, 10, 500, 3],
  ])('%d tasks over %d targets, %d a batch: %d calls', (tasks, targets, maxItems, calls) => {
    expect(fewestCalls(tasks, targets, maxItems)).toBe(calls);
  });

  test('greedy: full, or the oldest has waited the linger; each target by itself', () => {
    const at = (target: string, ...times: number[]) => times.map((atMs) => ({ target, atMs }));
    expect(greedyCalls(at('a', 0, 10, 100, 101), 10, 100)).toBe(2);
    expect(greedyCalls(at('a', 0, 1, 2, 3, 4), 2, 100)).toBe(3);
    expect(greedyCalls([...at('a', 0, 50), ...at('b', 0, 500)], 10, 100)).toBe(3);
  });

  test('lateness counts from when the batch was due: full, or its linger over', () => {
    expect(lateness({ atMs: 150, arrivals: [0, 20] }, 10, 100)).toBe(50);
    expect(lateness({ atMs: 150, arrivals: [0, 20] }, 2, 100)).toBe(130);
    expect(lateness({ atMs: 150, arrivals: [0, 120] }, 2, 100)).toBe(50);
  });

  test('median and percentiles are right for even and odd counts, and out of order', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(percentile([5, 1, 4, 2, 3], 0.99)).toBe(5);
    expect(percentile([5, 1, 4, 2, 3], 0.5)).toBe(3);
  });
});

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

test('a case that keeps every goal misses none', () => {
  expect(result(11).missed).toEqual([]);
});

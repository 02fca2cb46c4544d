import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { call } from './callers';
import type { Called } from './callers';
import type { SingleResult } from './result';
import { latencyOf, singleResult } from './result';

/** `bench:single` in small: what does not depend on the machine. @slow */

const BENCH = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'bench', 'single', 'single.js');

test('single submits: every figure is there, of both sides', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    BENCH,
    ...['--callers', '8', '--tasks', '400', '--runs', '1', '--seconds', '1'],
  ]);
  const result = JSON.parse(stdout) as SingleResult;
  expect(result).toMatchObject({ callers: 8, tasks: 400, runs: 1 });
  for (const figure of [result.ratio, result.perS.muster, result.perS.floor, result.commitMs])
    expect(figure).toBeGreaterThan(0);
  expect(Object.keys(result.latency)).toEqual(['0.1', '0.5', '0.9']);
  for (const { muster, floor } of Object.values(result.latency))
    for (const side of [muster, floor]) expect(side.p99Ms).toBeGreaterThanOrEqual(side.p50Ms);
});

test('each caller has one task under way, every task is submitted once', async () => {
  const seen: string[] = [];
  let now = 0;
  let most = 0;
  const { latenciesMs } = await call({ run: 'r', tasks: 50, targets: 5, callers: 7 }, async ({ id }) => {
    seen.push(id);
    most = Math.max(most, ++now);
    await new Promise((resolve) => setImmediate(resolve));
    now--;
  });
  expect([new Set(seen).size, seen.length, most, latenciesMs.length]).toEqual([50, 50, 7, 50]);
});

test('at a rate, a call counts from when it was due, also if those before it still wait', async () => {
  const begunAt: number[] = [];
  const { latenciesMs } = await call({ run: 'r', tasks: 20, targets: 5, callers: 1, perS: 1_000 }, async () => {
    begunAt.push(performance.now());
    await new Promise((resolve) => setTimeout(resolve, 30));
  });
  expect(latenciesMs[0]).toBeGreaterThanOrEqual(29);
  expect(begunAt.at(-1)! - begunAt[0]!).toBeGreaterThanOrEqual(17);
});

test('ratios are of runs beside each other, latencies in lone commits', () => {
  const run = (seconds: number): Called => ({ seconds, latenciesMs: [1, 2, 3, 40] });
  const latency = { '0.5': { muster: latencyOf(run(1)), floor: latencyOf(run(1)) } };
  const runs = { muster: [run(2), run(1), run(4)], floor: [run(1), run(2), run(4)] };
  expect(singleResult({ callers: 4, tasks: 100 }, runs, 2, latency)).toEqual({
    ...{ callers: 4, tasks: 100, runs: 3, ratio: 1, ratioRange: [0.5, 2] },
    ...{ perS: { muster: 50, floor: 50 }, commitMs: 2, latency, p99AtHalfInCommits: 20 },
  });
});

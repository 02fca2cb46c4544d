import { execFile } from 'node:child_process';
import path from 'node:path';
import { inCi, rounds } from '../helpers/long';
import type { Outcome } from './run';

/**
 * The short form of `npm run test:liveness`: its own processes and servers, faults of some seconds.
 *
 * @alone
 * @slow
 */

const LIVENESS = path.join(__dirname, '..', '..', 'dist', 'test', 'liveness', 'liveness.js');

const run = (args: readonly string[]): Promise<{ code: number; outcome: Outcome | null; said: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [LIVENESS, ...args], { maxBuffer: 1e8 }, (error, out, said) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ code, outcome: out === '' ? null : (JSON.parse(out) as Outcome), said });
    });
  });

/** What takes a leader away is always there, in CI what takes the store, too. */
const PHASES =
  rounds(0, 1) === 1
    ? ['stops-2', 'starved', 'temporal-stopped', 'half-open-held']
    : inCi(['stops-2'], ['stops-2', 'half-open-held']);

test(`after faults (${PHASES.join(', ')}) it goes on, and the truth is told`, async () => {
  const { code, outcome, said } = await run(
    `--only ${PHASES.join(',')} --stops 1 --busy 4 --seconds 5 --away 5s --half-open 5s --calm 3s --rate 20 --leaders 4 --seed 1`.split(
      ' ',
    ),
  );
  if (code !== 0) throw new Error(said);
  expect(outcome).toMatchObject({
    passed: true,
    seed: 1,
    verified: 'ok',
    failures: [],
    truth: { findings: [] },
    balance: { lost: 0, stuck: 0, failed: 0, doubled: 0, disordered: 0, untold: 0 },
  });
  expect(outcome!.phases.map(({ phase }) => phase)).toEqual(PHASES);
  expect(outcome!.phases[0]!.own).toEqual({ stops: 1, inside: 1 });
  for (const { goesOnMs } of outcome!.phases) expect(goesOnMs).toBeLessThan(30_000);
  expect(outcome!.truth.calmRounds).toBeGreaterThanOrEqual(PHASES.length); // at least one after each
  expect(outcome!.balance.succeeded).toBe(outcome!.balance.accepted);
});

test('says what is wrong with its arguments', async () => {
  const { code, said } = await run(['--only', 'herd,weather']);
  expect(code).toBe(2);
  expect(said).toContain("with commas between, got 'weather'.");
});

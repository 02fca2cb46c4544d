import { execFile } from 'node:child_process';
import path from 'node:path';
import { inCi } from '../../helpers/long';
import type { Outcome } from './report';

/** The short form of `npm run chaos`: its own processes and servers. */

const CHAOS = path.join(__dirname, '..', '..', '..', 'dist', 'test', 'chaos', 'systems', 'chaos.js');

const run = (args: readonly string[]): Promise<{ code: number; outcome: Outcome | null; said: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, [CHAOS, ...args], { maxBuffer: 1e8 }, (error, out, said) => {
      const code = error === null ? 0 : Number(error.code ?? 1);
      resolve({ code, outcome: out === '' ? null : (JSON.parse(out) as Outcome), said });
    });
  });

test('processes stop and die while work of all five systems arrives: everything is accounted for', async () => {
  const kinds = inCi(['stop', 'kill-all'], ['kill-all', 'postgres-killed', 'temporal-emptied', 'cut-at-commit']);
  const faults = inCi(2, 5); // cut-at-commit comes twice in each round of the plan
  const seed = inCi(15, 1); // 15: both workers stand for 6 s, then both are killed
  const { code, outcome, said } = await run(
    `--only ${kinds.join()} --faults ${faults} --minutes 5 --workers 2 --rate 20 --within 60000 --seed ${seed}`.split(
      ' ',
    ),
  );
  if (code !== 0) throw new Error(said);
  expect(outcome).toMatchObject({
    passed: true,
    seed,
    faults,
    verified: 'ok',
    failures: [],
    balance: { lost: 0, stuck: 0, failed: 0, doubled: 0, disordered: 0, untold: 0, findings: [] },
  });
  expect(Object.keys(outcome!.kinds).sort()).toEqual([...kinds].sort());
  for (const kind of Object.values(outcome!.kinds)) expect(kind.struck).toBeGreaterThan(0);
  expect(outcome!.balance.succeeded).toBe(outcome!.balance.accepted);
  expect(outcome!.balance.accepted).toBeGreaterThan(100);
  expect(outcome!.fanouts).toBeGreaterThan(0);
  expect(outcome!.executions).toBeGreaterThan(0);
});

test('says what is wrong with its arguments', async () => {
  const { code, said } = await run(['--only', 'kill,weather']);
  expect(code).toBe(2);
  expect(said).toContain("with commas between, got 'weather'.");
});

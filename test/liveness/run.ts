import { setTimeout as sleep } from 'node:timers/promises';
import type { Verification } from '../../client';
import type { PhaseFigures } from './measure';
import { measure, untilSteady } from './measure';
import type { FaultSettings } from './phases';
import { phasesOf } from './phases';
import { countOpen, readEnds } from './openWork';
import type { Balance } from './balance';
import { judgeBalance } from './balance';
import type { Fault, Truth } from './judge/truth';
import { judgeTruth, RULES } from './judge/truth';
import type { WorldOptions } from './world';
import { World } from './world';

/** One run: the phases one after another, a witness during all of them, and a count at the end. */

export interface RunOptions extends WorldOptions, FaultSettings {
  /** Names of phases or of groups of them. */
  only: readonly string[];
  /** Sending must go on within this after a fault. */
  withinMs: number;
  /** After each fault, with everything in motion: from then on nothing may be called standing. */
  calmMs: number;
}
export interface Outcome {
  passed: boolean;
  seed: number;
  seconds: number;
  phases: PhaseFigures[];
  truth: Truth;
  unanswered: Record<string, number>;
  balance: Balance;
  verified: 'ok' | Verification;
  /** What did not hold, in words. */
  failures: string[];
}

/** After the calm the witness looks for so long, in some rounds; after a short one shorter. */
const LOOK_MS = 10_000;
const END_MS = 300_000;

export const runLiveness = async (options: RunOptions): Promise<Outcome> => {
  const begun = performance.now();
  const world = await World.start(options);
  try {
    const { load, witness, client, store, downstream, crew } = world;
    load.start();
    await untilSteady(world);
    witness.start();
    const phases: PhaseFigures[] = [];
    const faults: Fault[] = [];
    const broken: string[] = [];
    for (const phase of phasesOf(options.only, options)) {
      // One that cannot begin takes nothing from what the others have shown.
      const measured = await measure(phase, world).catch((error: Error) => error);
      if (measured instanceof Error) {
        options.log(`${phase.name}: ${measured.message}`);
        broken.push(`${phase.name}: ${measured.message}`);
        continue;
      }
      phases.push(measured.figures);
      faults.push(measured.fault);
      await sleep(options.calmMs + Math.min(LOOK_MS, options.calmMs));
      await witness.looksAfter(measured.fault.settledMs, options.calmMs);
    }
    await load.stop();
    await untilEmpty(world);
    await witness.stop();
    const truth = judgeTruth(witness.rounds, faults, { ...RULES, calmMs: options.calmMs });
    const balance = judgeBalance({
      acked: load.acked,
      toTell: load.toTell,
      stored: (await readEnds(store)).filter(({ id }) => !load.held.includes(id)),
      effects: downstream.effects,
      told: downstream.told,
      inversions: downstream.inversions,
      found: downstream.findings,
    });
    const verification = await client.verify({ full: true });
    const figures = { phases, truth, balance, verification, deaths: crew.deaths + crew.failedStarts };
    const failures = [...broken, ...failuresOf(figures, options.withinMs)];
    world.passed = failures.length === 0;
    return {
      passed: world.passed,
      seed: options.seed,
      seconds: Math.round((performance.now() - begun) / 1_000),
      phases,
      truth,
      unanswered: witness.unanswered,
      balance,
      verified: verification.ok
        ? 'ok'
        : { ...verification, checks: verification.checks.filter(({ violations }) => violations.length > 0) },
      failures,
    };
  } finally {
    await world.stop();
  }
};

/** Until nothing is open, and all that is to be told was. */
const untilEmpty = async ({ store, load, downstream }: World): Promise<void> => {
  const begunMs = performance.now();
  const isEmpty = async (): Promise<boolean> =>
    (await countOpen(store, Number.MAX_SAFE_INTEGER)) === 0 && load.toTell.every((id) => downstream.told.has(id));
  while (performance.now() - begunMs < END_MS && !(await isEmpty())) await sleep(500);
};

interface Found {
  phases: readonly PhaseFigures[];
  truth: Truth;
  balance: Balance;
  verification: Verification;
  deaths: number;
}

/** What must hold, and did not. */
export const failuresOf = ({ phases, truth, balance, verification, deaths }: Found, withinMs: number): string[] => {
  const failures: string[] = [];
  for (const { phase, againMs, targets, submits, drainedMs } of phases) {
    for (const [mover, ms] of Object.entries(againMs))
      if (ms === null || ms > withinMs)
        failures.push(
          `${phase}: ${mover} went on ${ms === null ? 'not at all' : `after ${ms} ms`}, expected within ${withinMs} ms`,
        );
    for (const [mover, { stillMs, target }] of Object.entries(targets))
      if (stillMs !== null && stillMs > withinMs)
        failures.push(
          `${phase}: target ${target} of ${mover} had open work and did not move for ${stillMs} ms after it, expected ${withinMs} ms at most`,
        );
    if (submits.againMs === null || submits.againMs > withinMs)
      failures.push(
        `${phase}: a submit was accepted again ${submits.againMs === null ? 'not at all' : `after ${submits.againMs} ms`}, expected within ${withinMs} ms`,
      );
    if (drainedMs === null) failures.push(`${phase}: what was accepted before its end did not drain`);
  }
  for (const { rule, text, fault } of truth.findings)
    failures.push(`${rule} (${fault ?? 'before any fault'}): ${text}`);
  for (const what of ['lost', 'stuck', 'failed', 'doubled', 'disordered', 'untold'] as const)
    if (balance[what] > 0) failures.push(`${balance[what]} ${what}`);
  failures.push(...balance.findings);
  if (!verification.ok) failures.push('verify: violated');
  if (deaths > 0) failures.push(`${deaths} workers ended by themselves`);
  return failures;
};

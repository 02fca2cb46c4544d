import type { Verdict } from './checker';
import type { Struck } from '../harness';
import type { Point } from '../points';
import { POINTS } from '../points';
import { countByPoint, haveShares } from '../shares';

export interface Outcome extends Verdict {
  passed: boolean;
  seed: number;
  kills: number;
  killsOf: Record<string, number>;
  stops: number;
  /** Processes that ended without being killed. */
  crashes: number;
  duplicateAttemptsPerKill: number;
  drained: boolean;
  verified: unknown;
  seconds: number;
  drainSeconds: number;
}

export interface Figures {
  verdict: Verdict;
  struck: readonly Struck[];
  verified: { ok: boolean };
  drained: boolean;
  kills: number;
  seed: number;
  crashes: number;
  seconds: number;
  drainSeconds: number;
}

export const outcomeOf = ({ verdict, struck, kills, ...rest }: Figures): Outcome => {
  const killsOf = countByPoint(struck);
  const { lost, stuck, failed, duplicatedEffects, inTwoBatches, disordered, needlessRepeats, calls, distinctCalls } =
    verdict;
  const clean = lost + stuck + failed + duplicatedEffects + inTwoBatches + disordered + needlessRepeats === 0;
  const enough = struck.length === kills && haveShares(killsOf, kills, POINTS);
  const duplicateAttemptsPerKill = Number(((calls - distinctCalls) / Math.max(1, struck.length)).toFixed(3));
  const verifiedOk = rest.verified.ok;
  return {
    passed: clean && enough && rest.drained && verifiedOk && rest.crashes === 0,
    ...rest,
    verified: verifiedOk ? 'ok' : rest.verified,
    kills: struck.length,
    killsOf,
    stops: struck.filter(({ how }) => how === 'stop').length,
    ...verdict,
    duplicateAttemptsPerKill,
    seconds: Math.round(rest.seconds),
    drainSeconds: Number(rest.drainSeconds.toFixed(1)),
  };
};

export const tableOf = (outcome: Outcome, points: readonly Point[]): string => {
  const row = (name: string, value: unknown): string => `  ${name.padEnd(28)}${String(value).padStart(10)}`;
  const { killsOf, findings } = outcome;
  return [
    outcome.passed ? 'passed' : 'FAILED',
    row('seed', outcome.seed),
    ...points.map((point) => row(point, killsOf[point] ?? 0)),
    row('kills (of these stops)', `${outcome.kills} (${outcome.stops})`),
    row('tasks', outcome.tasks),
    row('succeeded', outcome.succeeded),
    row('parked (no idempotency)', outcome.parked),
    row('lost', outcome.lost),
    row('stuck', outcome.stuck),
    row('failed', outcome.failed),
    row('duplicated effects', outcome.duplicatedEffects),
    row('in two batches', outcome.inTwoBatches),
    row('disordered calls', outcome.disordered),
    row('calls / distinct', `${outcome.calls}/${outcome.distinctCalls}`),
    row('needless repeats', outcome.needlessRepeats),
    row('duplicate attempts per kill', outcome.duplicateAttemptsPerKill),
    row('ended by themselves', outcome.crashes),
    row('verify', outcome.verified === 'ok' ? 'ok' : 'VIOLATED'),
    row('drained after', `${outcome.drainSeconds} s`),
    row('seconds', outcome.seconds),
    ...findings.map((finding) => `  ! ${finding}`),
  ].join('\n');
};

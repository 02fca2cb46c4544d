import type { Verification } from '../../../client';
import type { Balance } from '../../liveness/balance';
import type { Stalled } from '../../liveness/judge/longest';
import type { Truth } from '../../liveness/judge/truth';
import type { FaultKind, PlannedFault } from './plan';

/** What a run says at its end. Pure. */

export interface StruckFault extends PlannedFault {
  /** Processes, sessions or runs that it struck. */
  struck: number;
  fromMs: number;
  toMs: number;
  settledMs: number;
  /**
   * From its end until tasks had their effect at 90 % of the rate of arrivals; null: not at all.
   */
  recoveredMs: number | null;
  /** From its end to the next movement, by mover; null: none. */
  againMs: Readonly<Record<string, number | null>>;
  /** Why it could not be made as planned; null: it was. */
  failure: string | null;
}
export interface Found {
  seed: number;
  withinMs: number;
  seconds: number;
  struck: readonly StruckFault[];
  truth: Truth;
  longest: Stalled | null;
  unanswered: Readonly<Record<string, number>>;
  balance: Balance;
  /** Of fan-outs and executions. */
  findings: readonly string[];
  fanouts: number;
  executions: number;
  items: number;
  verification: Verification;
  /** Runs of workflows that failed, other than those that a later run replaced. */
  failedRuns: readonly string[];
  deaths: number;
  failedStarts: number;
}
export interface KindFigures {
  faults: number;
  struck: number;
  medianRecoveredMs: number | null;
  mostRecoveredMs: number | null;
  /** Longest until one kind of work moved again. */
  mostAgainMs: number | null;
}
export interface Outcome {
  passed: boolean;
  seed: number;
  seconds: number;
  faults: number;
  /** Kills and stops of processes: workers, Postgres and Temporal. */
  killsAndStops: number;
  kinds: Partial<Record<FaultKind, KindFigures>>;
  balance: Balance;
  fanouts: number;
  executions: number;
  items: number;
  truth: Truth;
  /** What `status` named as stalled for the longest. */
  longest: Stalled | null;
  unanswered: Readonly<Record<string, number>>;
  failedStarts: number;
  verified: 'ok' | Verification;
  failures: string[];
}

const OF_PROCESSES: readonly FaultKind[] = [
  'kill',
  'kill-all',
  'stop',
  'clock',
  'builds-mixed',
  'postgres-killed',
  'temporal-stopped',
  'temporal-killed',
  'temporal-emptied',
];

export const outcomeOf = (found: Found): Outcome => {
  const { seed, seconds, struck, truth, longest, unanswered, balance, verification, failedStarts } = found;
  const { fanouts, executions, items } = found;
  const failures = failuresOf(found);
  const kinds: Partial<Record<FaultKind, KindFigures>> = {};
  for (const kind of new Set(struck.map((one) => one.kind)))
    kinds[kind] = figuresOf(struck.filter((one) => one.kind === kind));
  return {
    passed: failures.length === 0,
    seed,
    seconds: Math.round(seconds),
    faults: struck.length,
    killsAndStops: OF_PROCESSES.reduce((sum, kind) => sum + (kinds[kind]?.struck ?? 0), 0),
    kinds,
    balance,
    fanouts,
    executions,
    items,
    truth,
    longest,
    unanswered,
    failedStarts,
    verified: verification.ok ? 'ok' : verification,
    failures,
  };
};

const figuresOf = (struck: readonly StruckFault[]): KindFigures => {
  const sorted = (times: readonly (number | null)[]): (number | null)[] =>
    times.map((ms) => (ms === null ? null : Math.round(ms))).sort((a, b) => (a ?? Infinity) - (b ?? Infinity));
  const recovered = sorted(struck.map(({ recoveredMs }) => recoveredMs));
  const again = sorted(struck.flatMap(({ againMs }) => Object.values(againMs)));
  return {
    faults: struck.length,
    struck: struck.reduce((sum, one) => sum + one.struck, 0),
    medianRecoveredMs: recovered[recovered.length >> 1] ?? null,
    mostRecoveredMs: recovered.at(-1) ?? null,
    mostAgainMs: again.at(-1) ?? null,
  };
};

/**
 * One leader, queuer or dispatch of many may stand while faults kill each sweeper that would begin
 * it anew, but not for longer: nothing would ever end it.
 */
const STALLED_MS = 300_000;

const failuresOf = (found: Found): string[] => {
  const { struck, withinMs, truth, longest, balance, findings, verification, deaths } = found;
  const failures: string[] = [];
  struck.forEach(({ kind, recoveredMs, againMs, failure }, i) => {
    const fault = `fault ${i + 1}, ${kind}`;
    const late = (ms: number | null): string | null =>
      ms === null ? 'not at all' : ms > withinMs ? `after ${Math.round(ms)} ms` : null;
    const recovered = late(recoveredMs);
    if (recovered !== null) failures.push(`${fault}: recovered ${recovered}, expected within ${withinMs} ms`);
    for (const [mover, ms] of Object.entries(againMs)) {
      const again = late(ms);
      if (again !== null) failures.push(`${fault}: ${mover} went on ${again}, expected within ${withinMs} ms`);
    }
    if (failure !== null) failures.push(`${fault}: could not be made: ${failure}`);
  });
  for (const { rule, text, fault } of truth.findings)
    failures.push(`${rule} (${fault ?? 'before any fault'}): ${text}`);
  if (longest !== null && longest.ms > STALLED_MS)
    failures.push(`${longest.kind} ${longest.name} had stalled for ${Math.round(longest.ms / 1_000)} s`);
  for (const what of ['lost', 'stuck', 'failed', 'doubled', 'disordered', 'untold'] as const)
    if (balance[what] > 0) failures.push(`${balance[what]} ${what}`);
  failures.push(...balance.findings, ...findings.slice(0, 20));
  if (!verification.ok) failures.push('verify: violated');
  failures.push(...found.failedRuns.slice(0, 20).map((run) => `a run failed: ${run}`));
  if (deaths > 0) failures.push(`${deaths} workers ended by themselves`);
  return failures;
};

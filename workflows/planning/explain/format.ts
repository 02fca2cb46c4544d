import { formatDuration } from '../duration';
import type { ExplainFacts } from './facts';

export const because = (error: string | null): string => (error === null ? '' : `: ${error}`);

export const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? '' : 's'}`;

/** How late a server fires a timer at most, if its dynamic configuration does not say else. */
const COARSE_MS = 1_000;

/** From how late on it is said, and only of waits that are shorter than so many times that. */
const NOTICED_MS = 100;
const TIMES_AS_LONG = 10;

/**
 * Returns what to add to a wait by a timer that is not much longer than timers are late, as a
 * worker measured. Empty: they are in time, or none has measured.
 */
export const ifLate = (facts: ExplainFacts, ms: number): string => {
  const late = lateOf(facts, ms);
  return late === null ? '' : ` Within ${late} after that (${WHY} ${late} late).`;
};

/** Returns the same for calls that a rate or a hold keeps from beginning. */
export const ifBegunLate = (facts: ExplainFacts, ms: number): string => {
  const late = lateOf(facts, ms);
  return late === null ? '' : ` Calls may begin ${late} later than that (${WHY} ${late} late).`;
};

const WHY = "the server's timers fire up to";
const lateOf = ({ timersLateMs: lateMs }: ExplainFacts, ms: number): string | null =>
  lateMs == null || lateMs < NOTICED_MS || ms >= TIMES_AS_LONG * lateMs ? null : formatDuration(lateMs);

/**
 * Returns the same where a worker has measured, else what may be: Postgres knows when it is due,
 * and not how the server keeps time.
 */
export const ifCoarse = (facts: ExplainFacts, ms: number): string => {
  if (facts.timersLateMs != null) return ifLate(facts, ms);
  return ms < COARSE_MS
    ? ` Where timers of Temporal are coarse (muster doctor), up to ${formatDuration(COARSE_MS)} later.`
    : '';
};

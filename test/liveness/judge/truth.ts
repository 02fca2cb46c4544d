import type { Naming, Source } from './named';
import { SOURCES } from './named';

/**
 * The judge of what is said: silence about what stands, a promise to what stands, an alarm about
 * what moves. Pure; times in milliseconds.
 */

/** What the witness saw of one mover. */
export interface Seen {
  /**
   * For how long something of it has been due without a movement; 0: nothing is due, or it has just
   * moved.
   */
  standsMs: number;
  naming: Naming;
  /** Those that answered, and called it healthy. */
  healthyBy: readonly Source[];
  /** Words of `explain` that promise that it goes on soon; null: it does not. */
  promise: string | null;
}
export interface Round {
  /** When it was read what stands; the questions follow. */
  atMs: number;
  /** When all had answered. */
  untilMs: number;
  seen: Readonly<Record<string, Seen>>;
}
export interface Fault {
  name: string;
  fromMs: number;
  toMs: number;
  /** When all had ended that was open at its end: until then one target of many may stand. */
  settledMs: number;
}
export interface Rules {
  /** What has stood for so long must have been named. */
  standMs: number;
  /**
   * A round comes every few seconds, and a question may miss its deadline: somebody must have named
   * it within this, each source may be later by this, and what explain promised may last for this.
   */
  graceMs: number;
  /** Once what the fault held up has ended and all has moved for so long, nothing may be named. */
  calmMs: number;
  /** What stands for less than this moves: between two calls of a steady load. */
  movesMs: number;
}
export const RULES: Rules = { standMs: 60_000, graceMs: 10_000, calmMs: 60_000, movesMs: 15_000 };

export interface Finding {
  rule: 'silence' | 'promise' | 'false alarm';
  mover: string;
  fault: string | null;
  atMs: number;
  text: string;
}
export interface Truth {
  findings: Finding[];
  /** Times that a mover stood for `standMs` or longer. */
  stood: number;
  /** Of those rounds in which something had stood so long: how many each source named. */
  namedBy: Record<Source, number>;
  /** Of those rounds: all. */
  rounds: number;
  /** Longest from the beginning of such a stand to the first naming. */
  namedAfterMs: number | null;
  /** Rounds in which all had been calm, so that nothing might be named. */
  calmRounds: number;
}

export const judgeTruth = (rounds: readonly Round[], faults: readonly Fault[], rules: Rules = RULES): Truth => {
  const truth: Truth = {
    findings: [],
    stood: 0,
    namedBy: { verify: 0, status: 0, explain: 0, healthz: 0 },
    rounds: 0,
    namedAfterMs: null,
    calmRounds: 0,
  };
  for (const mover of new Set(rounds.flatMap(({ seen }) => Object.keys(seen))))
    judgeStands(mover, rounds, faults, rules, truth);
  judgeCalm(rounds, faults, rules, truth);
  truth.findings.sort((a, b) => a.atMs - b.atMs);
  return truth;
};

/**
 * One stand after another: at most one finding of each kind, and of each source, for each. A source
 * that gives no answer calls nothing healthy.
 */
const judgeStands = (
  mover: string,
  rounds: readonly Round[],
  faults: readonly Fault[],
  { standMs, graceMs }: Rules,
  truth: Truth,
): void => {
  const namedAtMs = new Map<Source, number>();
  const notNamedFor = (source: Source, atMs: number): boolean => atMs - (namedAtMs.get(source) ?? -Infinity) > graceMs;
  let firstMs: number | null = null;
  let found = new Set<string>();
  let counted = false;
  let sinceMs = -Infinity;
  for (const { atMs, seen } of rounds) {
    const one = seen[mover];
    if (one === undefined) continue;
    if (one.standsMs === 0 || atMs - one.standsMs > sinceMs + 1_000) {
      // Another stand than the one before.
      sinceMs = atMs - one.standsMs;
      [firstMs, counted, found] = [null, false, new Set()];
    }
    const sources = SOURCES.filter((source) => one.naming[source] !== undefined);
    for (const source of sources) namedAtMs.set(source, atMs);
    if (sources.length > 0) firstMs ??= one.standsMs;
    if (one.standsMs < standMs) continue;
    if (!counted) truth.stood++;
    counted = true;
    truth.rounds++;
    for (const source of sources) truth.namedBy[source]++;
    if (firstMs !== null) truth.namedAfterMs = Math.max(truth.namedAfterMs ?? 0, firstMs);
    const find = (rule: Finding['rule'], text: string, key: string = rule): void => {
      if (found.has(key)) return;
      found.add(key);
      truth.findings.push({ rule, mover, fault: faultAt(faults, atMs), atMs, text });
    };
    const stands = `${mover} had not moved for ${Math.round(one.standsMs / 1_000)} s`;
    if (SOURCES.every((source) => notNamedFor(source, atMs))) find('silence', `${stands}, and nobody said so`);
    if (one.standsMs < standMs + graceMs) continue;
    for (const source of one.healthyBy)
      if (notNamedFor(source, atMs)) find('silence', `${stands}, and ${source} called it healthy`, source);
    if (one.promise !== null) find('promise', `${stands}, and explain said: ${one.promise}`);
  }
};

/** After a fault, when all has moved for a while: who still calls anything standing. */
const judgeCalm = (
  rounds: readonly Round[],
  faults: readonly Fault[],
  { calmMs, movesMs }: Rules,
  truth: Truth,
): void => {
  let calmSinceMs: number | null = null;
  const found = new Set<string>();
  for (const { atMs, untilMs, seen } of rounds) {
    const moves = Object.values(seen).every(({ standsMs }) => standsMs < movesMs);
    // A fault that begins between two answers of a round is in some of them.
    calmSinceMs =
      moves && !faults.some(({ fromMs, settledMs }) => fromMs <= untilMs && atMs <= settledMs)
        ? (calmSinceMs ?? atMs)
        : null;
    // A fault between two rounds begins it anew, too.
    const lastEndMs = Math.max(-Infinity, ...faults.map(({ settledMs }) => settledMs).filter((one) => one <= atMs));
    if (calmSinceMs === null || atMs - Math.max(calmSinceMs, lastEndMs) < calmMs) continue;
    truth.calmRounds++;
    for (const [mover, { naming }] of Object.entries(seen))
      for (const [source, text] of Object.entries(naming)) {
        const key = `${mover} ${source} ${faultAt(faults, atMs)}`;
        if (found.has(key)) continue;
        found.add(key);
        truth.findings.push({
          rule: 'false alarm',
          mover,
          fault: faultAt(faults, atMs),
          atMs,
          text: `all had moved for ${Math.round(calmMs / 1_000)} s, and ${source} said of ${mover}: ${text}`,
        });
      }
  }
};

/** The last that had begun. */
const faultAt = (faults: readonly Fault[], atMs: number): string | null =>
  faults.filter(({ fromMs }) => fromMs <= atMs).at(-1)?.name ?? null;

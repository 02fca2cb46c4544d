import type { LastTurn } from '../../postgres/grouping/leader';

/** Pacing and back-off for the sweeper; clocks are injected. */

/**
 * Wait before the first repeat of a wake that seems not to have helped, doubled each time up to the
 * last.
 */
const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;
/** Doubled, it is the first wait. */
const NONE_TRIED = FIRST_MS / 2;
/**
 * Wait before the next wake after one that failed: none may have been tried. Doubled each time up
 * to `FIRST_MS`, since one whose answer was lost has reached the server.
 */
const AFTER_FAILURE_MS = 2_000;

/**
 * Decides how often work that stays due is woken: at once, then less and less. A workflow that
 * cannot make progress (its activity has no worker) would otherwise get one signal per round until
 * its history is full.
 */
export class BackOff {
  private readonly tries = new Map<string, { notBefore: number; waitMs: number; afterFailureMs: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Says whether to try now. `due` false: it made progress, the next time begins anew. */
  mayTry(key: string, due: boolean): boolean {
    if (!due) {
      this.tries.delete(key);
      return false;
    }
    const last = this.tries.get(key);
    if (last !== undefined && this.now() < last.notBefore) return false;
    const waitMs = last === undefined ? FIRST_MS : Math.min(LONGEST_MS, last.waitMs * 2);
    const afterFailureMs = last?.waitMs === NONE_TRIED ? last.afterFailureMs : 0;
    this.tries.set(key, { notBefore: this.now() + waitMs, waitMs, afterFailureMs });
    return true;
  }

  /**
   * Notes that a wake failed: the next one is soon, and counts as the first. Says whether the one
   * before had not failed.
   */
  wakeFailed(key: string): boolean {
    const before = this.tries.get(key)?.afterFailureMs ?? 0;
    const afterFailureMs = before === 0 ? AFTER_FAILURE_MS : Math.min(FIRST_MS, 2 * before);
    this.tries.set(key, { notBefore: this.now() + afterFailureMs, waitMs: NONE_TRIED, afterFailureMs });
    return before === 0;
  }

  /** Forgets the keys that are due no longer. */
  keep(isDue: (key: string) => boolean): void {
    for (const key of this.tries.keys()) if (!isDue(key)) this.tries.delete(key);
  }
}

/**
 * Wait before the first repeat of a wake that brought no turn, and the longest wait: the obstacle
 * may vanish at any time.
 */
const FIRST_WAKE_MS = 10_000;
const LONGEST_WAKE_MS = 60_000;

/**
 * Decides how often a leader or queuer is woken that takes no turn: at once, then less and less.
 * While workers are starved of time, each signal makes the server offer at once a workflow task
 * that no worker has time for, instead of waiting longer each time.
 */
export class TurnBackOff<T extends LastTurn> {
  private readonly tries = new Map<number, { after: string; notBefore: number; waitMs: number }>();
  private forgetAt = 0;

  constructor(
    private readonly idOf: (one: T) => number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Says whether to wake it now. One that has taken a turn since the last time made progress, and
   * is woken at once.
   */
  mayWake(one: T): boolean {
    this.forget();
    const after = `${one.epoch}/${one.turn}`;
    const last = this.tries.get(this.idOf(one));
    const again = last?.after === after ? last : null;
    if (again !== null && this.now() < again.notBefore) return false;
    const waitMs = again === null ? FIRST_WAKE_MS : Math.min(LONGEST_WAKE_MS, again.waitMs * 2);
    this.tries.set(this.idOf(one), { after, notBefore: this.now() + waitMs, waitMs });
    return true;
  }

  /** Returns how many it remembers. */
  get size(): number {
    return this.tries.size;
  }

  /** Forgets those that were not woken again for long: they have got on. */
  private forget(): void {
    const now = this.now();
    if (now < this.forgetAt) return;
    this.forgetAt = now + LONGEST_WAKE_MS;
    for (const [id, { notBefore }] of this.tries) if (notBefore + LONGEST_WAKE_MS < now) this.tries.delete(id);
  }

  /** Notes that the wakes did not reach the server: the next ones are the first. */
  wakeFailed(woken: readonly T[]): void {
    for (const one of woken) this.tries.delete(this.idOf(one));
  }
}

const BUDGET_MS = 300;
const LONGEST_BUDGET_MS = 1_000;
const LONGEST_CYCLE_MS = 3_500;
const SHORTEST_PAUSE_MS = 500;
/** Within a cycle: what was read first waits for the next cycle meanwhile. */
const PART_PAUSE_MS = 100;

/**
 * Decides how fast the sweeper goes round the targets that have queued tasks: a cycle from start to
 * start takes 2 s, or four times what its reading takes, but 3.5 s at most, so that a forgotten
 * target is found within 5 s (with a reading of up to 1.7 s, however it changes from one cycle to
 * the next) and reading costs a quarter of the time at most, up to about 135,000 such targets (6.5
 * microseconds each). Beyond that cycles grow longer, slowly.
 */
export class Pace {
  private startedAt = 0;
  private readMs = 0;
  private lastReadMs = 0;

  constructor(
    private readonly everyMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Notes that a cycle begins. */
  begin(): void {
    this.startedAt = this.now();
    this.readMs = 0;
  }
  /**
   * Returns the longest that one round may read: half a cycle, so that other steps have their turn
   * in between. It doubles within a cycle that needs longer than the last one.
   */
  budgetMs(): number {
    return Math.min(LONGEST_BUDGET_MS, Math.max(BUDGET_MS, this.lastReadMs / 2, this.readMs));
  }
  took(ms: number, over: boolean): void {
    this.readMs += ms;
    if (over) this.lastReadMs = this.readMs;
  }
  /** Returns the pause until the next round. */
  pauseMs(over: boolean): number {
    if (!over) return PART_PAUSE_MS;
    const cycleMs = Math.max(this.everyMs, Math.min(LONGEST_CYCLE_MS, 4 * this.lastReadMs));
    return Math.max(Math.min(this.everyMs, SHORTEST_PAUSE_MS), this.startedAt + cycleMs - this.now());
  }
}

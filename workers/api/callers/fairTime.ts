import type { CallerLimits } from '../limits';
import { AGAIN_S, ApiProblem } from '../problem';
import type { Account, Expected } from './accounts';
import { HELD_MS, USUAL_MS, begun, ended, mayAsk, newAccount, nextOf, owedAt } from './accounts';
import { PRESENT_MS } from './costs';
import { Load } from './load';

/** Requests begin one after another until those of one turn of the loop take so much, in ms. */
const TURN_MS = 2;
/**
 * Requests of one caller that begin in a turn of the loop in any case: submits that begin together
 * share a commit, which is worth more than an exact order.
 */
const TOGETHER = 8;
/** How much of such requests of all callers may begin in a turn that has no time left, in ms. */
const OVERDRAFT_MS = 8;
/** How often it is looked whether refusals are paid for. */
const PAID_MS = 25;
/** Between two looks at what waits, this thread stood still for so long, in ms. */
const STOOD_MS = 1_000;
/** From this part of the time on, the thread counts as busy. */
const BUSY = 0.7;
/** Beyond so many accounts, those without a debt are forgotten. */
const MOST_ACCOUNTS = 1_000;

/**
 * A token by its id; null: without a valid one. All of these are one caller, since who has many
 * addresses would have as many shares, and each of them is refused in any case.
 */
export type CallerKey = number | null;

interface Waiting {
  /** A time in which this thread stood still is left out. */
  since: number;
  asked: Asked;
  /** Null: it is ended. */
  begin(stint: Stint | null): void;
  refuse(error: ApiProblem): void;
}
interface Kept extends Account {
  key: CallerKey;
  /** How many of its requests began in which turn of the loop. */
  inTurn: { turn: number; begun: number };
  waiting: Waiting[];
}

/** A request whose turn is awaited. */
interface Asked {
  /** Says whether it is not to be begun any more, since its caller is gone, say. */
  isOver(): boolean;
  /** It is a stream or long poll: no debt is expected of it, which would last until it ends. */
  waits: boolean;
}

/** One request's part of the thread's time. */
export interface Stint {
  /** Does work, and counts how long it took. */
  during<T>(work: () => T): T;
  /** Ends it; once. */
  end(isRefused: boolean): void;
}

/**
 * Shares this thread's time among callers. Where several call, the request of the one that has
 * taken the least begins first; nothing of the others is read meanwhile. While the thread is busy,
 * what is refused may take a small share of its time per caller: who gets many refusals waits. Who
 * is alone waits for nothing.
 */
export class FairTime {
  private readonly kept = new Map<CallerKey, Kept>();
  private readonly queued = new Set<Kept>();
  private readonly load: Load;
  /** The `due` of the request that began last. */
  private time = 0;
  private leftMs = TURN_MS;
  private turn = 0;
  private pumpedAt = 0;
  /** What is to begin requests next. */
  private soon: NodeJS.Immediate | null = null;
  private later: NodeJS.Timeout | null = null;
  /** The token that called last, and when. */
  private latest: { key: CallerKey; at: number } = { key: null, at: -Infinity };
  /** When another token than that has called. */
  private otherAt = -Infinity;
  readonly held = { requests: 0, refused: 0 };

  /**
   * `limits`: of one caller; as many of its requests may wait as be at work. `streams`: whether
   * others than a caller have any open; these need the thread's time without any request.
   */
  constructor(
    private readonly limits: Pick<CallerLimits, 'refusedShare' | 'maxRequests'>,
    private readonly streams: { waitsBeside(key: CallerKey): boolean },
    private readonly now: () => number = () => performance.now(),
    load?: Load,
  ) {
    this.load = load ?? new Load(now);
  }

  /**
   * Resolves when it is this caller's turn; with null if it was ended before.
   *
   * @throws ApiProblem after five seconds, or at once where too many of this caller wait
   */
  async enter(key: CallerKey, asked: Asked): Promise<Stint | null> {
    const now = this.now();
    const one = this.accountOf(key, now);
    this.note(key, now);
    if (this.isAlone(key, now) && one.waiting.length === 0) return this.begin(one, asked);
    if (this.mayBegin(one, now)) return this.begin(one, asked);
    if (one.waiting.length >= this.limits.maxRequests) {
      this.held.refused++;
      throw tooMany(one.waiting.length);
    }
    this.held.requests++;
    return new Promise((resolve, reject) => {
      if (this.queued.size === 0) this.pumpedAt = now;
      one.waiting.push({ since: now, asked, begin: resolve, refuse: reject });
      if (one.waiting.length === 1) one.due = Math.max(one.due, this.time);
      this.queued.add(one);
      this.pumpSoon();
    });
  }

  /** Begins a request that never waits, whatever its caller took. */
  enterAtOnce(key: CallerKey): Stint {
    return this.begin(this.accountOf(key, this.now()), { waits: false });
  }

  /** Says whether this thread is busy while others than this one call. */
  isContended(key: CallerKey): boolean {
    return this.load.utilization > BUSY && !this.isAlone(key, this.now());
  }

  /**
   * Returns the part of the time that refusals of a caller may take just now: the more, the more is
   * left until the thread is busy. Cubed, since each of several callers may take as much.
   */
  private shareOf(key: CallerKey, now: number): number {
    if (this.isAlone(key, now)) return 1;
    return Math.max(this.limits.refusedShare, Math.max(0, BUSY - this.load.utilization) ** 3);
  }

  private isAlone(key: CallerKey, now: number): boolean {
    const otherAt = key === this.latest.key ? this.otherAt : this.latest.at;
    return now - otherAt > PRESENT_MS && !this.streams.waitsBeside(key);
  }

  private next(now: number): Kept | null {
    return nextOf(this.queued, (one) => mayAsk(one, now, this.shareOf(one.key, now)));
  }

  /** Says whether a request need not wait: there is time, and none that waits is due before it. */
  private mayBegin(one: Kept, now: number): boolean {
    if (!this.hasTime(one) || one.waiting.length > 0 || !mayAsk(one, now, this.shareOf(one.key, now))) return false;
    const next = this.next(now);
    return next === null || Math.max(one.due, this.time) < next.due;
  }

  private hasTime({ inTurn }: Kept): boolean {
    if (this.leftMs > 0) return true;
    return this.leftMs > -OVERDRAFT_MS && (inTurn.turn !== this.turn || inTurn.begun < TOGETHER);
  }

  /** Notes who is there. Without a valid token, a caller is no reason to hold back any other. */
  private note(key: CallerKey, at: number): void {
    if (key === null) return;
    if (key !== this.latest.key) this.otherAt = this.latest.at;
    this.latest = { key, at };
  }

  private begin(one: Kept, { waits }: Pick<Asked, 'waits'>): Stint {
    const expected: Expected = { meanMs: one.meanMs, meanOwed: waits ? 0 : one.meanOwed };
    this.time = Math.max(this.time, one.due);
    const now = this.now();
    Object.assign(one, begun(one, now, this.shareOf(one.key, now), this.time, expected));
    this.leftMs -= expected.meanMs;
    const { turn } = this;
    one.inTurn = { turn, begun: one.inTurn.turn === turn ? one.inTurn.begun + 1 : 1 };
    this.pumpSoon();
    let measuredMs = 0;
    return {
      during: (work) => {
        const from = this.now();
        try {
          return work();
        } finally {
          measuredMs += this.now() - from;
        }
      },
      end: (isRefused) => {
        const tookMs = measuredMs + USUAL_MS * this.load.stretch;
        const owes = isRefused ? tookMs : 0;
        const at = this.now();
        Object.assign(one, ended(one, expected, { tookMs, owes, now: at, share: this.shareOf(one.key, at) }));
        if (one.waiting.length > 0) this.pumpSoon(); // it may owe less than was expected
      },
    };
  }

  /** Begins what waits from the next turn of the loop on: until then others may come. */
  private pumpSoon(): void {
    this.soon ??= setImmediate(() => {
      this.soon = null;
      this.pump();
    });
  }

  private pump(): void {
    this.leftMs = TURN_MS;
    this.turn++;
    if (this.queued.size === 0) return;
    const now = this.now();
    this.leaveOut(now - this.pumpedAt, now);
    this.pumpedAt = now;
    for (const one of this.queued)
      Object.assign(one, { owed: owedAt(one, now, this.shareOf(one.key, now)), since: now });
    let next = this.next(now);
    for (; next !== null && this.hasTime(next); next = this.next(now)) {
      const { begin, asked } = this.take(next);
      begin(asked.isOver() ? null : this.begin(next, asked));
    }
    this.dropOverdue(now);
    if (next !== null) this.pumpSoon();
    else if (this.queued.size > 0)
      this.later ??= setTimeout(() => {
        this.later = null;
        this.pump();
      }, PAID_MS).unref();
  }

  /** Leaves a time out in which this thread stood still, and could begin nothing. */
  private leaveOut(ms: number, now: number): void {
    if (ms < STOOD_MS) return;
    for (const { waiting } of this.queued) for (const one of waiting) one.since = Math.min(now, one.since + ms);
  }

  private take(one: Kept): Waiting {
    const first = one.waiting.shift()!;
    this.held.requests--;
    if (one.waiting.length === 0) this.queued.delete(one);
    return first;
  }

  private dropOverdue(now: number): void {
    for (const one of this.queued)
      while (one.waiting.length > 0) {
        const { asked, since } = one.waiting[0]!;
        if (asked.isOver()) this.take(one).begin(null);
        else if (now - since < HELD_MS) break;
        else {
          this.held.refused++;
          this.take(one).refuse(tooMuch());
        }
      }
  }

  private accountOf(key: CallerKey, now: number): Kept {
    const kept = this.kept.get(key);
    if (kept !== undefined) return kept;
    if (this.kept.size >= MOST_ACCOUNTS) this.forget(now);
    const one: Kept = { key, waiting: [], inTurn: { turn: 0, begun: 0 }, ...newAccount(this.time, now) };
    this.kept.set(key, one);
    return one;
  }

  private forget(now: number): void {
    for (const [key, one] of this.kept)
      if (one.waiting.length === 0 && owedAt(one, now, this.shareOf(key, now)) === 0) this.kept.delete(key);
  }
}

const tooMany = (waiting: number): ApiProblem =>
  new ApiProblem(
    'caller-limit',
    `${waiting} requests of this caller wait for their turn, and no more may. Nothing was done; try again.`,
    { retryAfterS: AGAIN_S },
  );

const tooMuch = (): ApiProblem =>
  new ApiProblem(
    'caller-limit',
    `This request waited for its turn for ${HELD_MS / 1_000} s: this process is busy, others call, and this ` +
      'caller took more than they did, or is refused often. Nothing was done; try again.',
    { retryAfterS: AGAIN_S },
  );

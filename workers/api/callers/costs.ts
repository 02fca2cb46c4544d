import { AGAIN_S, ApiProblem } from '../problem';

/** Bodies from so many bytes may stop all other work of this process while they are read. */
export const COSTLY_BODY = 65_536;
/** Part of this process's time that large bodies of one caller may take while others call. */
const SHARE = 0.1;
/** What a caller may take at once, beyond its share, in ms. */
const BURST_MS = 500;
/** Others are there if one of them has called within so many ms. */
export const PRESENT_MS = 2_000;
/** Callers whose costs are kept; beyond them, those are forgotten that have room again. */
const MOST_CALLERS = 1_000;

interface Seen {
  caller: number;
  at: number;
}

/**
 * Holds each caller to its part of the time in which this process reads large bodies: nothing else
 * happens meanwhile. Who is alone may take all of it. Decides before anything of a body was read.
 */
export class Costs {
  /** What each caller has taken beyond its share, in ms, at some time. */
  private readonly taken = new Map<number, { ms: number; at: number }>();
  private latest: Seen = { caller: -1, at: -Infinity };
  /** The last one of another caller than the latest. */
  private other: Seen = { caller: -1, at: -Infinity };

  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * Notes a request of this caller. False: it has a large body, and those before have taken too
   * much of the time. `bodyBytes`: as announced; null: of a length that is not known.
   */
  admits(caller: number, bodyBytes: number | null): boolean {
    const at = this.now();
    if (caller !== this.latest.caller) this.other = this.latest;
    this.latest = { caller, at };
    const isAlone = at - this.other.at > PRESENT_MS;
    return isAlone || (bodyBytes ?? COSTLY_BODY) < COSTLY_BODY || this.levelOf(caller) <= BURST_MS;
  }

  /** Does what reading a body takes, at the cost of its caller. */
  during<T>(caller: number, bytes: number, work: () => T): T {
    if (bytes < COSTLY_BODY) return work();
    const begun = this.now();
    try {
      return work();
    } finally {
      const at = this.now();
      if (this.taken.size >= MOST_CALLERS) this.forget();
      this.taken.set(caller, { ms: this.levelOf(caller) + (at - begun), at });
    }
  }

  private levelOf(caller: number): number {
    const taken = this.taken.get(caller);
    return taken === undefined ? 0 : Math.max(0, taken.ms - (this.now() - taken.at) * SHARE);
  }

  private forget(): void {
    for (const caller of this.taken.keys()) if (this.levelOf(caller) === 0) this.taken.delete(caller);
  }
}

/** Returns the refusal of a large body. */
export const tooCostly = (): ApiProblem =>
  new ApiProblem(
    'caller-limit',
    `Reading large bodies of this caller took more than ${SHARE * 100} % of the time, while others called. ` +
      'Nothing was done; try again, or send less at once.',
    { retryAfterS: AGAIN_S },
  );

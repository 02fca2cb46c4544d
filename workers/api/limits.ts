import { MAX_JSON_DEPTH } from '../../workflows/planning/jsonText';
import { MOST_CONNECTIONS } from '../doors/sockets';
import { ApiProblem, AGAIN_S } from './problem';

/** Limits of one API process, overall and per request. */
export interface ApiLimits {
  /** Most bytes of one body. 1 KB to 256 MB; default 4 MB. */
  maxBodyBytes: number;
  /** Requests in progress at once; more get 503 with Retry-After. Default 256. */
  maxRequests: number;
  /** Streams and long polls at once; more get 429 with Retry-After. Default 500. */
  maxWaiting: number;
  /**
   * Longest that an answer is held back for `wait`, in seconds: below what proxies in front allow.
   * Default 60.
   */
  maxWaitS: number;
  /**
   * Connections at once; more are closed. Default: 2,000, or twice `maxRequests` and `maxWaiting`
   * together if that is more.
   */
  maxConnections: number;
  /** Of these, what one caller may have; more get 429. Default: half. */
  perCaller: CallerLimits;
}

/** What one caller may have at once. A caller is a token; requests without one are one caller. */
export interface CallerLimits {
  maxRequests: number;
  maxWaiting: number;
  /**
   * Part of the time of this process's thread that refusing requests of one caller may take, while
   * the thread is busy and others call; more waits. Default 0.02.
   */
  refusedShare: number;
}

/** The limits as given: those that are left out follow from the others. */
export interface GivenLimits extends Partial<Omit<ApiLimits, 'perCaller'>> {
  perCaller?: Partial<CallerLimits> | undefined;
}

export const limitsOf = (given: GivenLimits = {}): ApiLimits => {
  const { maxBodyBytes = 4_194_304, maxRequests = 256, maxWaiting = 500, maxWaitS = 60, perCaller = {} } = given;
  const { maxConnections = Math.max(MOST_CONNECTIONS.api, 2 * (maxRequests + maxWaiting)) } = given;
  const half = { maxRequests: Math.ceil(maxRequests / 2), maxWaiting: Math.ceil(maxWaiting / 2) };
  return {
    maxBodyBytes,
    maxRequests,
    maxWaiting,
    maxWaitS,
    maxConnections,
    perCaller: {
      maxRequests: perCaller.maxRequests ?? half.maxRequests,
      maxWaiting: perCaller.maxWaiting ?? half.maxWaiting,
      refusedShare: perCaller.refusedShare ?? 0.02,
    },
  };
};
export const DEFAULT_LIMITS = limitsOf();

/** Bodies of the largest size on their way at once, or as many bytes of smaller ones. */
const BODIES_AT_ONCE = 8;
/** Nesting of a JSON body; the payloads of real users have a dozen. */
export const MAX_DEPTH = MAX_JSON_DEPTH + 8;
/** Longest `wait` that a caller may ask for. */
export const MAX_WAIT_S = 60;

/** What a request asks for. `bodyBytes`: as announced; null: of a length that is not known. */
export interface Asked {
  waits: boolean;
  bodyBytes: number | null;
}

/**
 * A request's share of the limits, returned when the request was answered (or its caller is gone)
 * and no work for it is left.
 */
export class Ticket {
  private isClosed = false;
  private working = 0;
  private frees: (() => void)[] = [];

  /** Adds what is returned with the ticket; at once, if that was returned. */
  with(free: () => void): void {
    this.frees.push(free);
    this.settle();
  }

  closed(): void {
    this.isClosed = true;
    this.settle();
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.working++;
    try {
      return await work();
    } finally {
      this.working--;
      this.settle();
    }
  }

  private settle(): void {
    if (!this.isClosed || this.working > 0) return;
    for (const free of this.frees.splice(0)) free();
  }
}

/**
 * Says whether a caller may take so much more of what all share. Alone it may have `most` of it;
 * the less is free, the less each may have, so that something is left for the next caller, however
 * many came before: where that is below half, as much must be free as it would have then.
 */
export const mayTake = (
  amount: number,
  { own, taken, most, all }: { own: number; taken: number; most: number; all: number },
): boolean => {
  if (amount === 0 || own + amount > most) return amount === 0;
  return most >= all || (own + amount) * (all - most) <= Math.max(most, all - most) * (all - taken);
};

/**
 * Admits requests. Refuses before anything of a body was read, so that refusing costs no memory.
 */
export class Admission {
  private requests = 0;
  /** Requests whose callers are looked up. */
  private asking = 0;
  private waiting = 0;
  private bytes = 0;
  /** By the id of a token; 0: without one. */
  private readonly callers = new Map<number, { requests: number; waiting: number; bytes: number }>();
  readonly refused = { busy: 0, waiting: 0, caller: 0 };

  constructor(private readonly limits: ApiLimits) {}

  get open(): { requests: number; waiting: number } {
    return { requests: this.requests + this.asking, waiting: this.waiting };
  }

  /** Returns how many streams and long polls of this caller are open. */
  waitingOf(caller: number): number {
    return this.callers.get(caller)?.waiting ?? 0;
  }

  /** Says whether another caller than this one has streams and long polls open. */
  waitsBeside(caller: number | null): boolean {
    return this.waiting > (caller === null ? 0 : this.waitingOf(caller));
  }

  /**
   * Runs the look at who calls, which asks the store now and then.
   *
   * @throws ApiProblem where it has no answer for as many requests as may be at work
   */
  async whileAsked<T>(look: () => Promise<T>): Promise<T> {
    if (this.asking >= this.limits.maxRequests)
      throw this.busy(`The senders of ${this.asking} requests are looked up; the limit is ${this.limits.maxRequests}`);
    this.asking++;
    try {
      return await look();
    } finally {
      this.asking--;
    }
  }

  /** @throws ApiProblem */
  enter({ waits, bodyBytes }: Asked): Ticket {
    const ticket = new Ticket();
    if (waits) {
      this.enterWaiting(ticket);
      return ticket;
    }
    const { maxRequests, maxBodyBytes } = this.limits;
    const bytes = Math.min(bodyBytes ?? maxBodyBytes, maxBodyBytes);
    if (this.requests >= maxRequests || this.bytes + bytes > BODIES_AT_ONCE * maxBodyBytes)
      throw this.busy(
        `${this.requests} requests are in progress; the limit is ${maxRequests} (and ${BODIES_AT_ONCE} bodies of the largest size)`,
      );
    this.requests++;
    this.bytes += bytes;
    ticket.with(() => {
      this.requests--;
      this.bytes -= bytes;
    });
    return ticket;
  }

  private busy(what: string): ApiProblem {
    this.refused.busy++;
    return new ApiProblem('busy', `${what}. Nothing was done; try again.`, { retryAfterS: AGAIN_S });
  }

  /**
   * Takes a request's part of what its caller may have, so that one cannot take the place of all
   * others. @throws ApiProblem
   */
  share(ticket: Ticket, caller: number, { waits, bodyBytes }: Asked): void {
    const { maxBodyBytes, perCaller, maxRequests, maxWaiting } = this.limits;
    const share = this.callers.get(caller) ?? { requests: 0, waiting: 0, bytes: 0 };
    const bytes = waits ? 0 : Math.min(bodyBytes ?? maxBodyBytes, maxBodyBytes);
    const kind = waits ? 'waiting' : 'requests';
    const most = waits ? perCaller.maxWaiting : perCaller.maxRequests;
    const all = waits ? maxWaiting : maxRequests;
    const [allBytes, mostBytes] = [BODIES_AT_ONCE * maxBodyBytes, (BODIES_AT_ONCE / 2) * maxBodyBytes];
    // What this request takes is counted in the totals already, by `enter`.
    const hasPlace = mayTake(1, { own: share[kind], taken: this[kind] - 1, most, all });
    const ofBytes = { own: share.bytes, taken: this.bytes - bytes, most: mostBytes, all: allBytes };
    if (!hasPlace || !mayTake(bytes, ofBytes)) {
      this.refused.caller++;
      throw new ApiProblem(
        'caller-limit',
        `${share[kind]} ${waits ? 'streams and long polls' : 'requests'} of this caller are in progress; ` +
          `the limit is ${most} (and ${BODIES_AT_ONCE / 2} bodies of the largest size), less while others have many. ` +
          'Nothing was done; try again.',
        { retryAfterS: AGAIN_S },
      );
    }
    this.callers.set(caller, share);
    share[kind]++;
    share.bytes += bytes;
    ticket.with(() => {
      share[kind]--;
      share.bytes -= bytes;
      if (share.requests + share.waiting === 0) this.callers.delete(caller);
    });
  }

  private enterWaiting(ticket: Ticket): void {
    const { maxWaiting } = this.limits;
    if (this.waiting >= maxWaiting) {
      this.refused.waiting++;
      throw new ApiProblem(
        'too-many-waiting',
        `${this.waiting} streams and long polls are open; the limit is ${maxWaiting}. Read without \`wait\`, or try again.`,
        { retryAfterS: AGAIN_S },
      );
    }
    this.waiting++;
    ticket.with(() => this.waiting--);
  }
}

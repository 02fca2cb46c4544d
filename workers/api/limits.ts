import { MAX_JSON_DEPTH } from '../../workflows/planning/jsonText';
import { ApiProblem, AGAIN_S } from './problem';

/** Limits of one API process, overall and per request. */
export interface ApiLimits {
  /** Most bytes of one body. 1 KB to 256 MB; default 16 MB. */
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
}
export const DEFAULT_LIMITS: ApiLimits = { maxBodyBytes: 16_777_216, maxRequests: 256, maxWaiting: 500, maxWaitS: 60 };

/** Bodies of the largest size in memory at once, or as many bytes of smaller ones. */
const BODIES_AT_ONCE = 8;
/** Nesting of a JSON body; the payloads of real users have a dozen. */
export const MAX_DEPTH = MAX_JSON_DEPTH + 8;
/** Time for a whole request to arrive; a slow sender holds its part of the memory as long. */
export const REQUEST_MS = 60_000;
/** Longest `wait` that a caller may ask for. */
export const MAX_WAIT_S = 60;

/**
 * A request's share of the limits, returned when the request was answered (or its caller is gone)
 * and no work for it is left.
 */
export class Ticket {
  private isClosed = false;
  private working = 0;

  constructor(private readonly free: () => void) {}

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
    this.free();
  }
}

/**
 * Admits requests. Refuses before anything of a body was read, so that refusing costs no memory.
 */
export class Admission {
  private requests = 0;
  private waiting = 0;
  private bytes = 0;
  readonly refused = { busy: 0, waiting: 0 };

  constructor(private readonly limits: ApiLimits) {}

  get open(): { requests: number; waiting: number } {
    return { requests: this.requests, waiting: this.waiting };
  }

  /** `bodyBytes`: as announced; null: of a length that is not known. @throws ApiProblem */
  enter({ waits, bodyBytes }: { waits: boolean; bodyBytes: number | null }): Ticket {
    if (waits) return this.enterWaiting();
    const { maxRequests, maxBodyBytes } = this.limits;
    const bytes = Math.min(bodyBytes ?? maxBodyBytes, maxBodyBytes);
    if (this.requests >= maxRequests || this.bytes + bytes > BODIES_AT_ONCE * maxBodyBytes) {
      this.refused.busy++;
      throw new ApiProblem(
        'busy',
        `${this.requests} requests are in progress; the limit is ${maxRequests} (and ${BODIES_AT_ONCE} bodies of the largest size). Nothing was done; try again.`,
        { retryAfterS: AGAIN_S },
      );
    }
    this.requests++;
    this.bytes += bytes;
    return new Ticket(() => {
      this.requests--;
      this.bytes -= bytes;
    });
  }

  private enterWaiting(): Ticket {
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
    return new Ticket(() => this.waiting--);
  }
}

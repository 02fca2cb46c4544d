import type { Client } from '@temporalio/client';
import { paced } from '../planning/pace';
import type { HandlerCount } from './handlerCounts';
import { HandlerCounts } from './handlerCounts';

/**
 * The requests by which clients and workers start, signal and end workflows: their own, and those
 * of users that are told of ends.
 */

/** Most requests in flight at once: 500 would overload a small server. */
const PARALLELISM = 16;

/**
 * Milliseconds after which a wake without an answer has failed, because the server or the network
 * to it hangs. Nothing is lost, since the work is committed: the row that says "woken" expires, and
 * the sweeper repeats the wake.
 */
export const WAKE_DEADLINE_MS = 5_000;

/**
 * Most starts, signals and terminations per second that one client sends, and most at once. A
 * server's default limit of a namespace is 2,400 requests per second, of which polls and answers
 * of workers need most: one client that wakes ten thousand leaders may not use it up.
 */
export const REQUEST_PACE = { perSecond: 1_000, burst: 200 } as const;

/**
 * What a request starts or signals: a workflow of Muster's, or a user's that is told of an end
 * (`callback`); or that it ends a run, or a wait for which timers are too late (`alarm`).
 */
export type RequestKind =
  | 'leader'
  | 'queuer'
  | 'execution'
  | 'notifier'
  | 'balancer'
  | 'monitor'
  | 'completion'
  | 'callback'
  | 'timerProbe'
  | 'alarm'
  | 'terminate';

/** What a request is, to those who count it. */
export interface RequestOf {
  kind: RequestKind;
  /** The handler that it is for; left out: it is for several, or for none. */
  handler?: string | undefined;
}
/** Sends the requests of one client of Temporal: each in its turn, with a deadline, and counted. */
export class Requests {
  private readonly sent = new HandlerCounts<RequestKind>();
  /** By the clock of this process. */
  private paceMs = 0;
  /** When the server last refused the search attribute of handlers, by the same clock. */
  attributeRefusedAt = -Infinity;

  constructor(readonly temporal: Client) {}

  /** Returns how many requests were sent, by their kind and handler; those that failed, too. */
  counts(): HandlerCount<RequestKind>[] {
    return this.sent.all();
  }

  /**
   * Sends a request in its turn, with a deadline for all its repetitions, and counts it. One whose
   * turn would come too late fails at once, as one that got no answer: what sends it repeats it.
   */
  async send<T>(of: RequestOf, send: (temporal: Client) => Promise<T>, withinMs = WAKE_DEADLINE_MS): Promise<T> {
    const { waitMs, paceMs } = paced(this.paceMs, performance.now(), REQUEST_PACE);
    if (waitMs > withinMs)
      throw new Error(
        `Cannot send to Temporal (${of.kind}): its turn would come in more than ${withinMs} ms. It is repeated later.`,
      );
    this.paceMs = paceMs;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    this.sent.add(of.kind, of.handler);
    return inTime(this.temporal, () => send(this.temporal), withinMs);
  }
}

/** Rejects in time even if the connection does not. */
const inTime = async <T>(temporal: Client, send: () => Promise<T>, withinMs: number): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new Error(`Temporal gave no answer within ${withinMs} ms`));
    timer = setTimeout(fail, withinMs + 500);
  });
  try {
    return await Promise.race([temporal.withDeadline(Date.now() + withinMs, send), late]);
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Sends requests, some at a time. Failures are not thrown; the first one is returned, for the log.
 * After as many failures in a row as are sent at once, the rest is left to the sweeper, since each
 * would wait for the same server again.
 */
export const sendAll = async <T>(wakes: readonly T[], send: (wake: T) => Promise<unknown>): Promise<Error | null> => {
  let failure: Error | null = null;
  let inVain = 0;
  const queue = [...wakes];
  const runner = async (): Promise<void> => {
    for (let wake = queue.shift(); wake !== undefined && inVain < PARALLELISM; wake = queue.shift()) {
      try {
        await send(wake);
        inVain = 0;
      } catch (error) {
        inVain++;
        failure ??= error as Error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(PARALLELISM, wakes.length) }, runner));
  return failure;
};

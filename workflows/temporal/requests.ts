import type { Client } from '@temporalio/client';
import { paced } from '../planning/pace';

/** The requests by which clients and workers wake Muster's workflows, and end stuck ones. */

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

const KINDS = ['leader', 'queuer', 'execution', 'notifier', 'balancer', 'monitor', 'terminate'] as const;
/** The workflow that a request starts or signals, or that it ends a run. */
export type RequestKind = (typeof KINDS)[number];
export type RequestCounts = Readonly<Record<RequestKind, number>>;

interface Sent {
  counts: Record<RequestKind, number>;
  /** By the clock of this process. */
  paceMs: number;
}
/**
 * What each client has sent. It is kept beside the client, a class of the SDK, and disappears with
 * it: every caller of a wake has the client, and nothing else.
 */
const sentBy = new WeakMap<Client, Sent>();

const sentOf = (temporal: Client): Sent => {
  const known = sentBy.get(temporal);
  if (known !== undefined) return known;
  const none = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<RequestKind, number>;
  const sent: Sent = { counts: none, paceMs: 0 };
  sentBy.set(temporal, sent);
  return sent;
};

/** Returns how many requests of each kind a client has sent, those that failed among them. */
export const requestCounts = (temporal: Client): RequestCounts => ({ ...sentOf(temporal).counts });

/**
 * Sends a request in its turn, and counts it. One whose turn would come too late fails at once, as
 * one that got no answer: the sweeper repeats it.
 */
export const request = async <T>(temporal: Client, kind: RequestKind, send: () => Promise<T>): Promise<T> => {
  const sent = sentOf(temporal);
  const { waitMs, paceMs } = paced(sent.paceMs, performance.now(), REQUEST_PACE);
  if (waitMs > WAKE_DEADLINE_MS)
    throw new Error(
      `Cannot send to Temporal (${kind}): its turn would come in more than ${WAKE_DEADLINE_MS} ms. The sweeper repeats it.`,
    );
  sent.paceMs = paceMs;
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  sent.counts[kind] += 1;
  return inTime(temporal, send);
};

/**
 * Sends a request with a deadline for all its repetitions. Rejects in time even if the connection
 * does not.
 */
const inTime = async <T>(temporal: Client, send: () => Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const fail = (): void => reject(new Error(`Temporal gave no answer within ${WAKE_DEADLINE_MS} ms`));
    timer = setTimeout(fail, WAKE_DEADLINE_MS + 500);
  });
  try {
    return await Promise.race([temporal.withDeadline(Date.now() + WAKE_DEADLINE_MS, send), late]);
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

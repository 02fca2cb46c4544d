import { FIRST_MS, GROWTH, LONGEST_MS } from '../../client/waiting';
import { problemOf } from './errors';
import { ApiProblem } from './problem';

/** Waiting answers: server-sent events, and answers that are held back. */

const STREAM_LOOK_MS = 500;
/** Proxies close what is silent for a minute. */
const PING_MS = 15_000;
/** After a stop another process may answer. */
const RETRY_MS = 1_000;

/**
 * Resolves with what a look finds that begins within so many milliseconds; later while others need
 * the time, but within `mostMs`.
 */
export type Again<T> = (ms: number, mostMs?: number) => Promise<T>;

export interface Watched<T> {
  /** Found before the stream began, so that an unknown id is a 404. */
  first: T;
  again: Again<T>;
  isOver(found: T): boolean;
  /**
   * The caller is gone, or this process stops; or the reason is a problem: what ends it for this
   * caller.
   */
  signal: AbortSignal;
  everyMs?: number;
}

const event = (name: string, data: unknown): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * Streams `progress` at once and whenever the result of a look has changed, and `end` with the last
 * one; then the stream ends. `stopping` if this process ends first (connect again), `problem` with
 * problem details if a look fails. A comment every 15 s keeps it open.
 */
export async function* events<T>({
  first,
  again,
  isOver,
  signal,
  everyMs = STREAM_LOOK_MS,
}: Watched<T>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  let sent = '';
  let sentAt = performance.now();
  for (let found = first; ;) {
    if (isOver(found)) {
      yield event('end', found);
      return;
    }
    const text = JSON.stringify(found);
    if (text !== sent) {
      yield event('progress', found);
      sent = text;
      sentAt = performance.now();
    } else if (performance.now() - sentAt > PING_MS) {
      yield ': still here\n\n';
      sentAt = performance.now();
    }
    const next = await unlessAborted(again(everyMs), signal);
    if (next === ABORTED) {
      yield event('stopping', {});
      return;
    }
    found = next;
  }
}

const ABORTED = Symbol('aborted');

/** Waits for a look, but no longer than the caller does. @throws the problem that ends the wait */
const unlessAborted = async <T>(found: Promise<T>, signal: AbortSignal): Promise<T | typeof ABORTED> => {
  let leave: (() => void) | undefined;
  const aborted = new Promise<typeof ABORTED>((resolve) => {
    leave = () => resolve(ABORTED);
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
  });
  try {
    const first = await Promise.race([found, aborted]);
    if (signal.aborted && signal.reason instanceof ApiProblem) throw signal.reason;
    return signal.aborted ? ABORTED : first;
  } finally {
    signal.removeEventListener('abort', leave!);
  }
};

/** Streams events, with a failure of a look as an event: the status was sent long ago. */
export async function* safely(stream: AsyncIterable<string>, failed: (error: unknown) => void): AsyncGenerator<string> {
  try {
    yield* stream;
  } catch (error) {
    failed(error);
    yield event('problem', problemOf(error).body());
  }
}

export interface Waited<T> {
  look: () => Promise<T>;
  again: Again<T>;
  isOver(found: T): boolean;
  waitS: number;
  /** As of `Watched`. */
  signal: AbortSignal;
}

/**
 * Returns what a look finds at the end, or when `waitS` seconds have passed, or as it is when the
 * caller or this process goes.
 */
export const waited = async <T>({ look, again, isOver, waitS, signal }: Waited<T>): Promise<T> => {
  const deadline = performance.now() + waitS * 1_000;
  let waitMs = FIRST_MS;
  for (let found = await look(); ;) {
    const leftMs = deadline - performance.now();
    if (leftMs <= 0 || isOver(found)) return found;
    const next = await unlessAborted(again(waitMs, leftMs), signal);
    if (next === ABORTED) return look();
    found = next;
    waitMs = Math.min(LONGEST_MS, waitMs * GROWTH);
  }
};

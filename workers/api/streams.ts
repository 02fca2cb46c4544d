import { setTimeout as sleep } from 'node:timers/promises';
import { Waiting } from '../../client/waiting';
import { problemOf } from './errors';

/** Waiting answers: server-sent events, and answers that are held back. */

const STREAM_LOOK_MS = 500;
/** Proxies close what is silent for a minute. */
const PING_MS = 15_000;
/** After a stop another process may answer. */
const RETRY_MS = 1_000;

export interface Watched<T> {
  /** Found before the stream began, so that an unknown id is a 404. */
  first: T;
  look(): Promise<T>;
  isOver(found: T): boolean;
  /** The caller is gone, or this process stops. */
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
  look,
  isOver,
  signal,
  everyMs = STREAM_LOOK_MS,
}: Watched<T>): AsyncGenerator<string> {
  yield `retry: ${RETRY_MS}\n\n`;
  let sent = '';
  let sentAt = performance.now();
  for (let found = first; ; found = await look()) {
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
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) {
      yield event('stopping', {});
      return;
    }
  }
}

/** Streams events, with a failure of a look as an event: the status was sent long ago. */
export async function* safely(stream: AsyncIterable<string>, failed: (error: unknown) => void): AsyncGenerator<string> {
  try {
    yield* stream;
  } catch (error) {
    failed(error);
    yield event('problem', problemOf(error).body());
  }
}

/**
 * Returns what `look` finds at the end, or when `waitS` seconds have passed, or as it is when the
 * caller or this process goes.
 */
export const waited = async <T>(
  look: () => Promise<T>,
  isOver: (found: T) => boolean,
  waitS: number,
  signal: AbortSignal,
): Promise<T> => {
  const waiting = new Waiting({ timeoutMs: waitS * 1_000, signal });
  for (;;) {
    waiting.look();
    const found = await look();
    if (waitS === 0 || signal.aborted || isOver(found)) return found;
    try {
      if (!(await waiting.again())) return found;
    } catch (error) {
      if (signal.aborted) return look();
      throw error;
    }
  }
};

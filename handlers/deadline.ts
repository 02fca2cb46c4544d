/**
 * How many milliseconds an aborted call may take to report what it knows (for example that nothing
 * was sent) before it is abandoned.
 */
const ABANDON_AFTER_MS = 100;

export interface LinkedSignal {
  readonly signal: AbortSignal;
  /**
   * Returns true if the time ran out; false if the parent aborted first, or nothing has aborted.
   */
  timedOut(): boolean;
  /** Begins the time anew. */
  restart(): void;
  dispose(): void;
}

/**
 * Returns a signal that aborts with `parent` or after `ms` milliseconds, whichever is first. It
 * does not use `AbortSignal.any`, which is still being repaired in Node 20. `missing`: what did not
 * come in time.
 */
export function linkedSignal(parent: AbortSignal, ms: number, missing = 'end'): LinkedSignal {
  const controller = new AbortController();
  let isLate = false;
  let isDone = false;
  const follow = () => controller.abort(parent.reason);
  const timer = setTimeout(() => {
    isLate = true;
    controller.abort(new DOMException(`no ${missing} within ${shown(ms)}`, 'TimeoutError'));
  }, ms);
  if (parent.aborted) follow();
  else parent.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    timedOut: () => isLate,
    restart: () => {
      if (!isDone && !isLate) timer.refresh(); // which revives a timer that was cleared
    },
    dispose: () => {
      isDone = true;
      clearTimeout(timer);
      parent.removeEventListener('abort', follow);
    },
  };
}

const shown = (ms: number): string => `${ms.toLocaleString('en-US')} ms`;

/** The work did not end in time, nor within `ABANDON_AFTER_MS` after it was aborted. */
export class Abandoned extends Error {
  override readonly name = 'Abandoned';
}

/** The limits of a call besides the handler's `timeoutMs`: the caller's signal and deadline. */
export interface Bounds {
  readonly signal: AbortSignal;
  /** Unix milliseconds by this machine's clock; left out: none. */
  readonly deadline?: number;
}

/** Returns when a call that starts now must have ended, in Unix milliseconds. */
export const endOf = (bounds: Bounds, timeoutMs: number, now: number): number =>
  Math.min(bounds.deadline ?? Infinity, now + timeoutMs);

/**
 * Runs `work` with a signal that aborts at the deadline, or with the caller's signal. Work that
 * ignores its signal is abandoned shortly after: this rejects with `Abandoned`, and a later result
 * or error of the work is discarded.
 */
export async function withinDeadline<T>(
  bounds: Bounds,
  timeoutMs: number,
  work: (signal: AbortSignal, deadline: number) => Promise<T>,
): Promise<T> {
  const now = Date.now();
  const deadline = endOf(bounds, timeoutMs, now);
  const linked = linkedSignal(bounds.signal, Math.max(0, deadline - now));
  return raced(linked, `at its deadline, ${deadline - now} ms after its start`, () => work(linked.signal, deadline));
}

/**
 * The same with a signal that aborts when `ms` have passed without progress, which the work notes
 * by `goesOn`. `what`: that is missing then, and the setting: "result (poll.idleMs)".
 */
export async function withinIdle<T>(
  parent: AbortSignal,
  ms: number,
  what: string,
  work: (signal: AbortSignal, goesOn: () => void) => Promise<T>,
): Promise<T> {
  const linked = linkedSignal(parent, ms, what);
  return raced(linked, `after ${shown(ms)} without a ${what}`, () => work(linked.signal, () => linked.restart()));
}

async function raced<T>(linked: LinkedSignal, late: string, work: () => Promise<T>): Promise<T> {
  let abandon: NodeJS.Timeout | undefined;
  const left = new Promise<never>((_, reject) => {
    const onAbort = () => {
      const why = linked.timedOut() ? late : 'with its worker or by a cancellation';
      abandon = setTimeout(
        () => reject(new Abandoned(`the call was aborted ${why}, and did not react`)),
        ABANDON_AFTER_MS,
      );
    };
    if (linked.signal.aborted) onAbort();
    else linked.signal.addEventListener('abort', onAbort, { once: true });
  });
  // In an async function, so that work that throws before its first await rejects like any other.
  const running = (async () => await work())();
  running.catch(() => undefined);
  try {
    return await Promise.race([running, left]);
  } finally {
    clearTimeout(abandon);
    linked.dispose();
  }
}

/** Streams and long polls of one caller that look as often as they like, whatever else happens. */
const FREE_LOOKS = 10;
/** The longest that many of them make each wait, in ms. */
const MOST_SPREAD_MS = 2_000;

/**
 * Returns in how many ms a look of a caller with so many open is taken while others need the time.
 * `mostMs`: as long as it waits at all.
 */
export const spread = (ms: number, open: number, mostMs: number): number =>
  Math.min(mostMs, Math.max(ms, Math.min(MOST_SPREAD_MS, (ms * open) / FREE_LOOKS)));

/**
 * Looks at the store on behalf of several callers who wait for the same: however many watch one
 * task, fan-out or execution, this process asks for it once per interval.
 */
export class Looks {
  private readonly due = new Map<string, Due>();
  private readonly running = new Map<string, Promise<unknown>>();

  /**
   * Resolves with what the next look at `key` finds, which begins within `ms` milliseconds and not
   * before this call. Rejects as the look does.
   */
  next<T>(key: string, ms: number, look: () => Promise<T>): Promise<T> {
    let due = this.due.get(key);
    if (due === undefined) {
      due = new Due(() => this.take(key, look));
      this.due.set(key, due);
    }
    due.within(ms);
    return due.found as Promise<T>;
  }

  /** Takes a look once the one before has ended, so that a slow store is not asked at once. */
  private async take(key: string, look: () => Promise<unknown>): Promise<unknown> {
    await this.running.get(key)?.catch(() => undefined);
    this.due.delete(key);
    const found = look();
    this.running.set(key, found);
    try {
      return await found;
    } finally {
      if (this.running.get(key) === found) this.running.delete(key);
    }
  }
}

/** One look that is to come. */
class Due {
  readonly found: Promise<unknown>;
  private begin!: () => void;
  private at = Infinity;
  private timer: NodeJS.Timeout | undefined;

  constructor(look: () => Promise<unknown>) {
    this.found = new Promise<void>((resolve) => (this.begin = resolve)).then(look);
    // Every caller may have gone by then.
    this.found.catch(() => undefined);
  }

  /** Brings the look forward, if it would begin later. */
  within(ms: number): void {
    const at = performance.now() + ms;
    if (at >= this.at) return;
    this.at = at;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.begin, ms).unref();
  }
}

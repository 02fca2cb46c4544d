const TICKS_EVERY_MS = 500;
/** A tick that comes later than this was not merely late: the process was stopped, or blocked. */
const STOPPED_MS = 3_000;

/**
 * Notices when this process was stopped for a while: what it had seen before may have gone on
 * unseen.
 */
export class OwnStops {
  private ticker: NodeJS.Timeout | undefined;
  private tickedAt = performance.now();
  private stoppedAt = -Infinity;

  /** Begins to watch; later calls change nothing. Keeps no process alive. */
  watch(): void {
    if (this.ticker !== undefined) return;
    this.tickedAt = performance.now();
    this.ticker = setInterval(() => this.tick(), TICKS_EVERY_MS);
    this.ticker.unref();
  }

  /** Says whether the process was stopped since then, as far back as it was watched. */
  wasStoppedSince(at: number): boolean {
    this.tick(); // an answer may be handled before the tick
    return this.stoppedAt > at;
  }

  private tick(): void {
    const now = performance.now();
    if (now - this.tickedAt > STOPPED_MS) this.stoppedAt = now;
    this.tickedAt = now;
  }
}

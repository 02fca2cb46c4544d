import { setTimeout as sleep } from 'node:timers/promises';
import type { Handler } from '../../handlers';
import type { RateLimit } from '../../workflows/planning/limits/limits';
import type { SharedRate } from '../../workflows/planning/limits/sharing';
import type { CallCost, Pace, Paces } from '../shared';

/** How often a waiting caller checks whether it should give up. */
const SLICE_MS = 50;

/**
 * The rates of a handler as this process keeps them. The plan spaces the starts of calls, but a
 * call that starts late may come too close to a later one that starts on time. So the last starts
 * are remembered, and a call waits until less than `limit` units started within the last `perMs`.
 * Strict within a process; over several, calls may come closer by as much as the earlier one is
 * late. Memory: `limit` starts per rate.
 */
export class CallPace implements Pace {
  private readonly windows = new Map<string, Window>();

  private aheadMs = -Infinity;

  constructor(private readonly rates: Handler['rates']) {}

  clock(aheadMs: number): () => number {
    this.aheadMs = Math.max(this.aheadMs, aheadMs);
    return () => performance.now() + this.aheadMs;
  }

  async turn(
    targetId: number,
    cost: CallCost,
    clock: () => number,
    givesUp: () => boolean,
    rates: readonly (RateLimit | SharedRate)[] = this.rates,
  ): Promise<boolean> {
    if (this.windows.size > MOST_WINDOWS) this.forget(clock());
    const windows = rates.map((rate, at) => ({ cost: cost[rate.unit], window: this.windowOf(rate, at, targetId) }));
    for (;;) {
      const now = clock();
      const at = Math.max(now, ...windows.map(({ window }) => window.freeAt(now)));
      if (at <= now) {
        for (const { window, cost: units } of windows) window.add(now, units);
        return true;
      }
      if (givesUp()) return false;
      await sleep(Math.min(SLICE_MS, at - now));
    }
  }

  private windowOf({ scope, unit, limit, perMs }: RateLimit | SharedRate, at: number, targetId: number): Window {
    const key = scope === 'target' ? `${at}/${unit}/${targetId}` : `${at}/${unit}`;
    let window = this.windows.get(key);
    if (window === undefined) this.windows.set(key, (window = new Window()));
    window.allow(limit, perMs);
    return window;
  }

  private forget(now: number): void {
    for (const [key, window] of this.windows) if (window.isEmpty(now)) this.windows.delete(key);
  }
}

/**
 * Most windows of rates by target: above this, those of targets that were not called for a while
 * are forgotten.
 */
const MOST_WINDOWS = 10_000;

/** The starts of the last `perMs`, oldest first. */
class Window {
  private readonly starts: { at: number; units: number }[] = [];
  private units = 0;

  private limit = 0;
  private perMs = 0;

  /** Sets how many units may start within `perMs`: a rate may change, its starts remain. */
  allow(limit: number, perMs: number): void {
    this.limit = limit;
    this.perMs = perMs;
  }

  /** Returns when less than `limit` units will have started within the last `perMs`. */
  freeAt(now: number): number {
    this.drop(now);
    let left = this.units;
    for (const { at, units } of this.starts) {
      if (left < this.limit) return now;
      left -= units;
      if (left < this.limit) return at + this.perMs;
    }
    return now;
  }

  add(at: number, units: number): void {
    this.starts.push({ at, units });
    this.units += units;
  }

  isEmpty(now: number): boolean {
    this.drop(now);
    return this.starts.length === 0;
  }

  private drop(now: number): void {
    const kept = this.starts.findIndex(({ at }) => at + this.perMs > now);
    for (const { units } of this.starts.splice(0, kept === -1 ? this.starts.length : kept)) this.units -= units;
    if (this.starts.length === 0) this.units = 0; // sums of fractions leave a remainder
  }
}

/** The paces of one process, by handler. */
export class CallPaces implements Paces {
  private readonly byHandler = new Map<string, CallPace>();

  of({ name, rates }: Pick<Handler, 'name' | 'rates'>): CallPace {
    const pace = this.byHandler.get(name) ?? new CallPace(rates);
    this.byHandler.set(name, pace);
    return pace;
  }
}

import { performance } from 'node:perf_hooks';

/** How often it is computed anew, in ms. */
const EVERY_MS = 100;
/** Part of the latest measure in what is told. */
const NEW = 0.3;
/** What a request is expected to cost besides what is measured, before anything is known, in ms. */
const USUAL_MS = 0.3;
/**
 * The most that is added to each measured ms: where hardly any was measured, the estimate is poor.
 */
const MOST_PER_MS = 5;

export interface Loop {
  /** In ms, since its start. */
  active: number;
  idle: number;
}

/**
 * Measures how much of its time this thread is busy, and estimates what a request takes of it. Only
 * some of that is measured request by request; the rest (headers, the database's answers, writing)
 * is shared among the requests, one half equally, the other like what was measured.
 */
export class Load {
  private at: number;
  private loop: Loop;
  private noted = { ms: 0, requests: 0 };
  private busy = 0;
  private besides = { perRequest: USUAL_MS, perMs: 0 };

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly read: () => Loop = () => performance.eventLoopUtilization(),
  ) {
    this.at = now();
    this.loop = read();
  }

  /**
   * Notes a request that has ended, and what was measured of it. Returns what it took in all, in
   * ms.
   */
  note(ms: number): number {
    this.noted.ms += ms;
    this.noted.requests++;
    return this.besides.perRequest + ms * (1 + this.besides.perMs);
  }

  /**
   * Returns the part of the time, 0 to 1, in which this thread was busy in the last half second.
   */
  get utilization(): number {
    this.refresh();
    return this.busy;
  }

  private refresh(): void {
    const at = this.now();
    const passed = at - this.at;
    if (passed < EVERY_MS) return;
    const loop = this.read();
    const active = loop.active - this.loop.active;
    const all = active + loop.idle - this.loop.idle;
    const part = 1 - (1 - NEW) ** (passed / EVERY_MS);
    this.busy += part * ((all > 0 ? active / all : 0) - this.busy);
    const { ms, requests } = this.noted;
    const rest = Math.max(0, active - ms) / 2;
    if (requests > 0) {
      this.besides.perRequest += NEW * (rest / requests - this.besides.perRequest);
      this.besides.perMs += NEW * (Math.min(MOST_PER_MS, rest / Math.max(ms, 1e-3)) - this.besides.perMs);
    }
    this.noted = { ms: 0, requests: 0 };
    Object.assign(this, { at, loop });
  }
}

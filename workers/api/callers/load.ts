import { performance } from 'node:perf_hooks';

/** How often it is computed anew, in ms. */
const EVERY_MS = 100;
/** Part of the latest measure in what is told. */
const NEW = 0.3;

/**
 * The most that other programs stretch the time of this thread: what they take of the processor
 * looks like its own work. So it is not busy if it computes for a fifteenth of the time or less.
 */
const MOST_STRETCH = 10;

/** In ms, since its start. */
export interface Loop {
  active: number;
  idle: number;
  /** What this process computed, all threads together. */
  computed: number;
}

const readLoop = (): Loop => {
  const { user, system } = process.cpuUsage();
  const { active, idle } = performance.eventLoopUtilization();
  return { active, idle, computed: (user + system) / 1_000 };
};

/** Measures how much of its time this thread is busy, and how much longer others make it so. */
export class Load {
  private at: number;
  private loop: Loop;
  private busy = 0;
  private stretched = 1;

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly read: () => Loop = readLoop,
  ) {
    this.at = now();
    this.loop = read();
  }

  /**
   * Returns the part of the time, 0 to 1, in which this thread was busy in the last half second.
   */
  get utilization(): number {
    this.refresh();
    return this.busy;
  }

  /** Returns how long this thread took, in the last half second, for what takes 1 by itself. */
  get stretch(): number {
    this.refresh();
    return this.stretched;
  }

  private refresh(): void {
    const at = this.now();
    const passed = at - this.at;
    if (passed < EVERY_MS) return;
    const loop = this.read();
    const active = loop.active - this.loop.active;
    const all = active + loop.idle - this.loop.idle;
    const computed = loop.computed - this.loop.computed;
    const part = 1 - (1 - NEW) ** (passed / EVERY_MS);
    this.busy += part * ((all > 0 ? Math.min(active, MOST_STRETCH * computed) / all : 0) - this.busy);
    const stretch = Math.min(MOST_STRETCH, Math.max(1, active / Math.max(computed, 1e-3)));
    this.stretched += part * (stretch - this.stretched);
    Object.assign(this, { at, loop });
  }
}

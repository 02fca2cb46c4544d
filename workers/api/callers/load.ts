import { performance } from 'node:perf_hooks';

/** How often it is computed anew, in ms. */
const EVERY_MS = 100;
/** Part of the latest measure in what is told. */
const NEW = 0.3;

/**
 * The most that other programs stretch the time of this thread: what they take of the processor
 * looks like its own work. A thread that may compute for a fifth of the time and has work for all
 * of it is busy; one that computes for less has little to do.
 */
const MOST_STRETCH = 4;

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

/** Measures how much of its time this thread is busy. */
export class Load {
  private at: number;
  private loop: Loop;
  private busy = 0;

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
    const at = this.now();
    const passed = at - this.at;
    if (passed < EVERY_MS) return this.busy;
    const loop = this.read();
    const active = loop.active - this.loop.active;
    const all = active + loop.idle - this.loop.idle;
    const least = Math.min(active, MOST_STRETCH * (loop.computed - this.loop.computed));
    const part = 1 - (1 - NEW) ** (passed / EVERY_MS);
    this.busy += part * ((all > 0 ? least / all : 0) - this.busy);
    Object.assign(this, { at, loop });
    return this.busy;
  }
}

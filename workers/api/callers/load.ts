import { performance } from 'node:perf_hooks';

/** How often it is computed anew, in ms. */
const EVERY_MS = 100;
/** Part of the latest measure in what is told. */
const NEW = 0.3;

export interface Loop {
  /** In ms, since its start. */
  active: number;
  idle: number;
}

/** Measures how much of its time this thread is busy. */
export class Load {
  private at: number;
  private loop: Loop;
  private busy = 0;

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly read: () => Loop = () => performance.eventLoopUtilization(),
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
    const part = 1 - (1 - NEW) ** (passed / EVERY_MS);
    this.busy += part * ((all > 0 ? active / all : 0) - this.busy);
    Object.assign(this, { at, loop });
    return this.busy;
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { ChunkMemory } from './shared';

/**
 * The lease of a chunk, as its node holds it: renewed by the heartbeat thread at a third of its
 * time, whatever the items do. The node stops counting on it when its own monotonic clock passes
 * the expiry, measured from before the statement was sent: so a process that was stopped and wakes
 * starts nothing before it has been renewed.
 */
export class ChunkLease {
  private readonly ended = new AbortController();

  constructor(
    private readonly memory: ChunkMemory,
    private readonly signOfLife: () => void,
    private readonly drop: () => void,
  ) {}

  /**
   * Aborted when another node may run the items of this chunk: what still runs of it counts no
   * more.
   */
  get lost(): AbortSignal {
    return this.ended.signal;
  }

  /**
   * Checks the lease, before every item. True when it is held; waits for the renewal where it ran
   * out.
   */
  async check(signal: AbortSignal): Promise<boolean> {
    while (!this.memory.isHeld() && !this.memory.isLost() && !signal.aborted)
      await sleep(50, undefined, { signal }).catch(() => undefined);
    if (this.memory.isLost()) this.lose();
    return !this.memory.isLost() && !signal.aborted;
  }

  /**
   * Notes that a runner begins or ends an item: what the heartbeat thread must know should the item
   * never end.
   */
  begin(runner: number, position: number): void {
    this.signOfLife();
    this.memory.begin(runner, position);
  }
  done(runner: number): void {
    this.memory.end(runner);
  }

  lose(): void {
    this.memory.lose();
    this.ended.abort(new Error('its chunk was taken from this node'));
  }

  /** Ends the lease's renewal. */
  end(): void {
    this.memory.lose();
    this.drop();
  }
}

import type { Logger } from 'pino';
import { renewChunk } from '../postgres/chunk';
import type { Pool } from '../postgres/pool';

export interface HeldChunk {
  id: string;
  nodeId: string;
  epoch: number;
}

/**
 * The lease of a chunk, as its node holds it: renewed at a third of its time. The node takes itself for out when its own monotonic clock passes
 * the expiry, counted from before the statement was sent: so a process that was stopped and wakes starts nothing before it has asked again.
 */
export class ChunkLease {
  private until: number;
  private closed = false;
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> = Promise.resolve();

  constructor(
    private readonly pool: Pool,
    private readonly chunk: HeldChunk,
    private readonly leaseMs: number,
    takenAt: number,
    private readonly log: Logger,
  ) {
    this.until = takenAt + leaseMs;
    this.next();
  }

  /** Another may start the items of this chunk, or does: nothing of it is begun any more. */
  isLost(): boolean {
    return this.closed;
  }

  /** Before every item. True when it is held; waits for an answer where it ran out, and tries again while there is none. */
  async check(signal: AbortSignal): Promise<boolean> {
    while (!this.closed && performance.now() >= this.until && !signal.aborted) {
      await this.renew();
      if (!this.closed && performance.now() >= this.until) await new Promise((resolve) => setTimeout(resolve, 200));
    }
    return !this.closed && !signal.aborted;
  }

  async end(): Promise<void> {
    this.closed = true;
    clearTimeout(this.timer);
    await this.renewing;
  }

  private next(): void {
    if (this.closed) return;
    this.timer = setTimeout(() => void this.renew().then(() => this.next()), this.leaseMs / 3);
    this.timer.unref();
  }

  private renew(): Promise<void> {
    this.renewing = this.renewing.then(async () => {
      if (this.closed) return;
      const asked = performance.now();
      try {
        const { id, nodeId, epoch } = this.chunk;
        if (await renewChunk(this.pool, id, nodeId, epoch, this.leaseMs)) this.until = asked + this.leaseMs;
        else this.closed = true;
      } catch (error) {
        this.log.warn({ err: error, chunk: this.chunk.id }, 'chunk: its lease was not renewed');
      }
    });
    return this.renewing;
  }
}

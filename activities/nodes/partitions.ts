import type { Logger } from 'pino';
import { withRetries } from '../../postgres/errors';
import { readHeldPartitions, releasePartitions } from '../../postgres/nodes/partitionLease';
import type { Pool } from '../../postgres/pool';
import { Checkpoints } from './checkpoints';
import type { SeenPartition } from './heartbeat';
import { nowNs, toNs } from './heartbeat';

export interface PartitionsOptions {
  pool: Pool;
  /** Id of this process: the holder. */
  node: string;
  /**
   * How long this process's partitions are reserved for a node of this name after it stops. Null:
   * not at all.
   */
  kept: { name: string; forMs: number } | null;
  /** Called when a partition was given up, so that another node may have it. Never throws. */
  onReleased: () => void;
  log: Logger;
}

interface Use {
  epoch: number;
  /** Called when the partition must be given up, or is lost: no further call may start under it. */
  onStop: () => void;
}

/**
 * A use of a partition lease under one epoch. While any use is active, the partition is not given
 * up, so that its calls end before the next holder's start.
 */
export interface PartitionUse {
  readonly id: string;
  readonly epoch: number;
  /**
   * Says, by this process's monotonic clock, whether the lease holds for certain and was not asked
   * back.
   */
  isHeld(): boolean;
  end(): void;
}

/**
 * The partitions that this process holds, as its heartbeat thread last saw them. The process stops
 * counting on one when its own monotonic clock passes the expiry, measured from before the lease
 * was read: a process that was stopped and wakes begins nothing before it has looked. That only
 * saves work. What makes it safe is the epoch, which every mark names and the store compares.
 */
export class Partitions {
  private readonly held = new Map<string, SeenPartition>();
  private readonly uses = new Map<string, Set<Use>>();
  private draining = false;
  private heardNs = 0n;
  /** Partitions that are being given up. */
  private readonly underWay = new Set<Promise<void>>();

  readonly checkpoints: Checkpoints;

  constructor(private readonly options: PartitionsOptions) {
    this.checkpoints = new Checkpoints(options.pool, options.node);
  }

  /**
   * Takes what the heartbeat thread saw; a busy main thread gets it late, perhaps after a look of
   * its own.
   */
  heard(seen: readonly SeenPartition[], atNs: bigint): void {
    if (atNs < this.heardNs) return;
    this.heardNs = atNs;
    this.held.clear();
    for (const one of seen) this.held.set(one.id, one);
    for (const [id, uses] of this.uses) for (const use of uses) if (!this.isOpen(id, use.epoch)) use.onStop();
    this.giveUpIdle();
  }

  /** Returns how many it holds. */
  get size(): number {
    return this.held.size;
  }

  /**
   * Begins a use of a partition. Null: this process does not hold it, under that epoch if one is
   * named, or is to give it up. Reads the store where it does not know.
   */
  async use(id: string, epoch: number | null, onStop: () => void): Promise<PartitionUse | null> {
    if (!this.isOpen(id, epoch)) await this.look();
    const seen = this.held.get(id);
    if (seen === undefined || !this.isOpen(id, epoch)) return null;
    const use: Use = { epoch: seen.epoch, onStop };
    const uses = this.uses.get(id) ?? new Set<Use>();
    this.uses.set(id, uses.add(use));
    return {
      id,
      epoch: seen.epoch,
      isHeld: () => this.isOpen(id, use.epoch),
      end: () => {
        uses.delete(use);
        if (uses.size > 0) return;
        if (this.uses.get(id) === uses) this.uses.delete(id);
        this.giveUpIdle();
      },
    };
  }

  /** Prepares a stop: each partition is given up when its last call has ended. */
  drain(): void {
    this.draining = true;
    for (const uses of this.uses.values()) for (const { onStop } of uses) onStop();
    this.giveUpIdle();
  }

  /** Stops, giving up every remaining partition now. Returns true if there was one. */
  async stop(): Promise<boolean> {
    this.draining = true;
    await this.look().catch(() => undefined);
    this.uses.clear();
    this.giveUpIdle();
    const any = this.underWay.size > 0;
    await Promise.all(this.underWay);
    return any;
  }

  private isOpen(id: string, epoch: number | null): boolean {
    const seen = this.held.get(id);
    if (seen === undefined || seen.revoked || this.draining) return false;
    return (epoch === null || seen.epoch === epoch) && nowNs() < seen.untilNs;
  }

  /** Reads the store, when work came for a partition that was given to this node a moment ago. */
  private async look(): Promise<void> {
    const { pool, node } = this.options;
    const asked = nowNs();
    const rows = await withRetries(() => readHeldPartitions(pool, node));
    this.heard(
      rows.map(({ leftMs, ...row }) => ({ ...row, untilNs: asked + toNs(leftMs) })),
      asked,
    );
  }

  private giveUpIdle(): void {
    const idle = [...this.held.values()].filter(({ id, revoked }) => (revoked || this.draining) && !this.uses.has(id));
    if (idle.length === 0) return;
    const work: Promise<void> = this.giveUp(idle).finally(() => this.underWay.delete(work));
    this.underWay.add(work);
  }

  /**
   * Gives partitions up. Never throws: a lease that could not be given up passes, and its
   * revocation has a limit.
   */
  private async giveUp(partitions: readonly SeenPartition[]): Promise<void> {
    const { pool, node, kept, log, onReleased } = this.options;
    for (const { id } of partitions) this.held.delete(id);
    // Before the lease: afterwards they would be refused. Who waits for it hears of a failure.
    await Promise.all(partitions.map(({ id }) => this.checkpoints.flush(id)));
    try {
      const given = await withRetries(() => releasePartitions(pool, node, partitions, kept));
      log.info({ partitions: given }, 'partitions given up');
      if (given.length > 0) onReleased();
    } catch (error) {
      log.warn({ err: error }, 'partitions could not be given up; their leases will expire');
    }
  }
}

import type { Logger } from 'pino';
import { withRetries } from '../../postgres/errors';
import { readHeldPartitions, releasePartitions } from '../../postgres/nodes/partitionLease';
import type { Pool } from '../../postgres/pool';
import type { SeenPartition } from './heartbeat';
import { nowNs, toNs } from './heartbeat';

export interface PartitionsOptions {
  pool: Pool;
  /** Id of this process: the holder. */
  node: string;
  /** Its partitions wait so long for a node of this name, when it stops. Null: they do not. */
  kept: { name: string; forMs: number } | null;
  /** Something was given up: somebody else may have it. Never throws. */
  onReleased: () => void;
  log: Logger;
}

interface Use {
  epoch: number;
  /** It is to be given up, or is lost: nothing new is begun under it. */
  onStop: () => void;
}

/**
 * Somebody's work in a partition, under one epoch. While any is under way, the partition is not
 * given up (B10).
 */
export interface PartitionUse {
  readonly id: string;
  readonly epoch: number;
  /**
   * By this process's own monotonic clock: the lease holds for certain, and nobody asked for it.
   */
  isHeld(): boolean;
  end(): void;
}

/**
 * The partitions that this process holds, as its heartbeat thread last saw them. The process takes
 * itself for out when its own monotonic clock passes the expiry, counted from before the lease was
 * read: one that was stopped and wakes begins nothing before it has looked (B11). That saves work
 * only. What makes it safe is the epoch, which every mark names and the store compares.
 */
export class Partitions {
  private readonly held = new Map<string, SeenPartition>();
  private readonly uses = new Map<string, Set<Use>>();
  private draining = false;
  private heardNs = 0n;
  /** What is being given up. */
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly options: PartitionsOptions) {}

  /**
   * What the heartbeat thread saw; a main thread that was busy hears it late, perhaps after a look
   * of its own.
   */
  heard(seen: readonly SeenPartition[], atNs: bigint): void {
    if (atNs < this.heardNs) return;
    this.heardNs = atNs;
    this.held.clear();
    for (const one of seen) this.held.set(one.id, one);
    for (const [id, uses] of this.uses) for (const use of uses) if (!this.isOpen(id, use.epoch)) use.onStop();
    this.giveUpIdle();
  }

  /** How many it holds. */
  get size(): number {
    return this.held.size;
  }

  /**
   * Null: this process does not hold it, under that epoch if one is named, or is to give it up.
   * Looks into the store where it does not know.
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

  /** This process is about to stop: each is given up when its last call has ended. */
  drain(): void {
    this.draining = true;
    for (const uses of this.uses.values()) for (const { onStop } of uses) onStop();
    this.giveUpIdle();
  }

  /** The process stops now: whatever is left is given up. True: there was something. */
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

  /** Work came for a partition that was given to this node a moment ago. */
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

  /** Never throws: a lease that could not be given up passes, and its revocation has a limit. */
  private async giveUp(partitions: readonly SeenPartition[]): Promise<void> {
    const { pool, node, kept, log, onReleased } = this.options;
    for (const { id } of partitions) this.held.delete(id);
    try {
      const given = await withRetries(() => releasePartitions(pool, node, partitions, this.draining ? kept : null));
      log.info({ partitions: given }, 'partitions given up');
      if (given.length > 0) onReleased();
    } catch (error) {
      log.warn({ err: error }, 'partitions could not be given up; their leases will pass');
    }
  }
}

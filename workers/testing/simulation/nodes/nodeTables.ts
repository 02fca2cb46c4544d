import type { Handler } from '../../../../handlers/types';
import { partitionResource } from '../../../../postgres/nodes/partition';
import { leaderIndex } from '../../../../workflows/planning/grouping/hash';

/** The nodes of a simulated store, and the leases of its partitions. */

export interface NodeRow {
  readonly id: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly startedMs: number;
  drained: boolean;
  /** When it was killed; null: it lives. */
  killedAtMs: number | null;
}

export const newNode = (id: string, attributes: NodeRow['attributes'], startedMs: number): NodeRow => ({
  ...{ id, attributes, startedMs, drained: false, killedAtMs: null },
});

export interface LeaseRow {
  /** Name of the partition in the store. */
  readonly id: string;
  holder: string | null;
  epoch: number;
  /** When it passes; a holder that lives renews it. */
  expiresAtMs: number;
  acquiredAtMs: number;
  revokedAtMs: number | null;
  wantedBy: string | null;
  checkpoint: { value: string; atMs: number; epoch: number } | null;
}

/** Who calls the batches of a partition, and under which epoch. */
export interface Serving {
  /** Name of the partition in the store. */
  id: string;
  node: string;
  epoch: number;
}

export class NodeTables {
  readonly nodes = new Map<string, NodeRow>();
  readonly leases = new Map<string, LeaseRow>();
  private readonly partitions: number;

  constructor(
    private readonly handler: Pick<Handler, 'name' | 'affinity'>,
    nowMs: number,
    private readonly leaseMs: number,
  ) {
    this.partitions = handler.affinity?.partitions ?? 0;
    for (let no = 0; no < this.partitions; no++) {
      const id = partitionResource(handler.name, no);
      const free = { holder: null, epoch: 0, revokedAtMs: null, wantedBy: null, checkpoint: null };
      this.leases.set(id, { id, ...free, expiresAtMs: nowMs, acquiredAtMs: nowMs });
    }
  }

  /** Any node makes any call. */
  get isOff(): boolean {
    return this.partitions === 0;
  }

  /** Returns the partition of a target or of a service, by its name in the store. */
  partitionOf(key: string): string {
    return partitionResource(this.handler.name, leaderIndex(key, this.partitions));
  }

  /** Returns who serves a partition; null: no node does now. */
  servingOf(id: string, nowMs: number): Serving | null {
    const { holder, epoch, revokedAtMs } = this.leases.get(id)!;
    if (holder === null || revokedAtMs !== null || this.leftMs(id, nowMs) <= 0) return null;
    return this.nodes.get(holder)?.killedAtMs === null ? { id, node: holder, epoch } : null;
  }

  /** Returns how long a lease is held still; 0 or less: it has passed. */
  leftMs(id: string, nowMs: number): number {
    const { holder, expiresAtMs } = this.leases.get(id)!;
    const isRenewed = holder !== null && this.nodes.get(holder)?.killedAtMs === null;
    return isRenewed ? this.leaseMs : expiresAtMs - nowMs;
  }

  heldBy(node: string): LeaseRow[] {
    return [...this.leases.values()].filter(({ holder }) => holder === node);
  }

  /** Gives a lease up, as its holder does. */
  release(lease: LeaseRow, nowMs: number): void {
    Object.assign(lease, { holder: null, expiresAtMs: nowMs, revokedAtMs: null });
  }
}

import type { BalanceDeps } from '../../../../activities/nodes/balance';
import { balancePartitions } from '../../../../activities/nodes/balance';
import type { NodeSettings } from '../../../../activities/nodes/settings';
import type { Pool } from '../../../../postgres/pool';
import type { Tables } from '../tables';
import { SILENT_LOG } from '../../../../handlers/logging/boundLog';

/** Rounds at one instant after which the simulation is at fault. */
const MOST_ROUNDS = 1_000;

/**
 * Spreads the partitions of a simulated store over its nodes: the product's own rounds. A node that
 * is asked for a partition gives it up at once, since a call takes no time.
 */
export class Balancer {
  /** When the next round is due, as Unix ms; Infinity: none is. */
  private atMs: number;
  private readonly deps: BalanceDeps;
  private turn = 0;

  constructor(
    private readonly tables: Tables,
    pool: Pool,
    private readonly settings: NodeSettings,
  ) {
    this.atMs = tables.nodes.isOff ? Infinity : tables.nowMs;
    // What a round uses of what a worker has. Nothing is rung.
    this.deps = { pool, nodes: settings, log: SILENT_LOG } as unknown as BalanceDeps;
  }

  nextAtMs(): number {
    return this.atMs;
  }

  /** A node has come, or is going: a round is due. */
  wake(): void {
    if (!this.tables.nodes.isOff) this.atMs = this.tables.nowMs;
  }

  /** Runs the rounds that are due. */
  async run(): Promise<void> {
    for (let rounds = 0; rounds < MOST_ROUNDS; rounds++) {
      const { dueInMs } = await balancePartitions(this.deps, { runId: 'world', turn: ++this.turn });
      const isReleased = this.release();
      if (isReleased || dueInMs === 0) continue;
      const inMs = Math.min(dueInMs ?? Infinity, this.silentInMs());
      this.atMs = Math.ceil(this.tables.nowMs + inMs);
      return;
    }
    throw new Error(`Cannot simulate: expected an end of the balancer's rounds, got ${MOST_ROUNDS} at one instant.`);
  }

  /** Gives up what living holders were asked for. */
  private release(): boolean {
    const { nodes, nowMs } = this.tables;
    let isReleased = false;
    for (const lease of nodes.leases.values()) {
      if (lease.revokedAtMs === null || nodes.nodes.get(lease.holder ?? '')?.killedAtMs !== null) continue;
      nodes.release(lease, nowMs);
      isReleased = true;
    }
    return isReleased;
  }

  /** Returns in how many ms other nodes find that a killed one has been silent for a lease. */
  private silentInMs(): number {
    const { nodes, nowMs } = this.tables;
    let next = Infinity;
    for (const { killedAtMs } of nodes.nodes.values())
      if (killedAtMs !== null && killedAtMs + this.settings.leaseMs > nowMs)
        next = Math.min(next, killedAtMs + this.settings.leaseMs - nowMs);
    return next;
  }
}

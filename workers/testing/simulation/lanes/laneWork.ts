import { lookAtLanes } from '../../../../activities/lanes/look';
import { writePlan } from '../../../../activities/lanes/grantPlan';
import { grantBatches } from '../../../../postgres/lanes/grant';
import type { LockedQueuer } from '../../../../postgres/lanes/queuerLock';
import type { Pool } from '../../../../postgres/pool';
import { inTransaction } from '../../../../postgres/pool';
import type { Grant } from '../../../../workflows/planning/lanes/types';
import { STATUSES } from '../../../../workflows/planning/lanes/statuses';
import type { Caller } from '../caller';
import type { Tables } from '../tables';
import type { Work } from '../work';
import type { BatchRow, LaneRow } from '../rows';

const QUEUER = 1;

/**
 * The queuer of a simulated store and its submitters: the product's own look at the lanes, with
 * which it grants all slots that are free, as soon as there is something for one. Batches are
 * called in the order of their grants, each after the one before has been settled.
 */
export class LaneWork implements Work {
  /** Granted, and not called yet. */
  private granted: BatchRow[] = [];
  /** A call has ended, and its slot has not looked for the next batch yet. */
  private isFreed = false;
  /** When the queuer's timer fires, which a pause leaves as it was set. */
  private timerMs = Infinity;

  constructor(
    private readonly tables: Tables,
    private readonly pool: Pool,
    private readonly caller: Caller,
  ) {}

  async step(): Promise<boolean> {
    const looked = this.mayLook() && (await this.look());
    const { nowMs } = this.tables;
    const next = this.granted.find(({ retryAtMs }) => (retryAtMs ?? 0) <= nowMs);
    if (next === undefined) return looked;
    this.granted = this.granted.filter((batch) => batch !== next);
    await this.caller.callInLane(next);
    this.isFreed = true;
    return true;
  }

  nextAtMs(afterMs: number): number {
    let next = Infinity;
    for (const { retryAtMs } of this.granted) if ((retryAtMs ?? 0) > afterMs) next = Math.min(next, retryAtMs!);
    if (!this.isPaused) this.timerMs = this.free > 0 ? this.dueAfterMs(afterMs) : Infinity;
    return this.timerMs > afterMs ? Math.min(next, this.timerMs) : next;
  }

  private dueAfterMs(afterMs: number): number {
    let next = Infinity;
    for (const lane of this.tables.lanes.all) {
      const { dueAtMs } = lane;
      if (isOpen(lane) && dueAtMs !== null && dueAtMs > afterMs) next = Math.min(next, Math.ceil(dueAtMs));
    }
    return next;
  }

  private get isPaused(): boolean {
    return this.tables.lanes.queuer.pausedFor !== null;
  }

  private get free(): number {
    return this.tables.lanes.queuer.slots - this.granted.length;
  }

  private mayLook(): boolean {
    const { lanes, nowMs } = this.tables;
    if (this.isPaused) {
      const isDue = this.timerMs <= nowMs;
      if (isDue) this.timerMs = Infinity;
      return isDue;
    }
    if (this.free <= 0) return false;
    if (this.isFreed) return true;
    return lanes.all.some((lane) => isOpen(lane) && (lane.ready || (lane.dueAtMs !== null && lane.dueAtMs <= nowMs)));
  }

  /** Grants what it can. False: there was nothing to grant, and a second look finds nothing new. */
  private look(): Promise<boolean> {
    this.isFreed = false;
    const { queuer } = this.tables.lanes;
    const { strategy, depth, round } = queuer;
    // What a look uses of the row that a turn of the queuer has locked.
    const locked = { strategy, depth, round, paused: false, nowMs: this.tables.nowMs } as LockedQueuer;
    return inTransaction(this.pool, async (client) => {
      const look = await lookAtLanes(client, QUEUER, locked, this.isPaused ? 0 : this.free);
      const { grants, again } = look.plan;
      if (grants.length > 0) await grantBatches(client, grants.map(toGranted));
      await writePlan(client, QUEUER, look, grants);
      this.granted.push(...grants.map(({ batchId }) => this.tables.batch(batchId)));
      return grants.length > 0 || again;
    });
  }
}

const isOpen = ({ pausedFor, haltedBy }: LaneRow): boolean => pausedFor === null && haltedBy === null;

const toGranted = ({ batchId, from, startInMs }: Grant): Parameters<typeof grantBatches>[1][number] => ({
  ...{ id: batchId, from: STATUSES[from], submitter: QUEUER, startInMs },
});

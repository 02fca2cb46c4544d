import { touchDispatch } from '../../postgres/calls/batch';
import type { CarriedBatch } from '../../postgres/calls/batch';
import type { Pressure } from '../../postgres/calls/backPressure';
import { readPressure } from '../../postgres/calls/backPressure';
import { withRetries } from '../../postgres/errors';
import { wakeForFreeSlots } from '../../postgres/grouping/leaderWakes';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { DISPATCH_LIFE_MS } from '../../postgres/grouping/alive';
import { readDispatchSlots } from '../../postgres/grouping/slots';
import type { DispatchInput } from '../../workflows/messages';
import type { ActivityDeps } from '../deps';
import { IN_PROCESS_MS } from './putOff';
import { adjustSlots } from '../grouping/reserve';
import { wake } from '../grouping/ring';
import type { Schedule } from './schedule';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';

/**
 * Longest time after a sign of life for which calls may begin: some time later the slots may go to
 * other dispatches.
 */
const CALLS_FOR_MS = DISPATCH_LIFE_MS - 5_000;

type AllowanceDeps = Pick<ActivityDeps, 'pool' | 'node' | 'requests' | 'prefix' | 'log'> & { input: DispatchInput };

/**
 * Tracks what a running dispatch may have in flight: its slots, each target's limit, and holds, as
 * last read. It follows every reduction and recovery by back pressure, including those caused by
 * other dispatches.
 */
export class Allowance {
  /** Upper bound of the time of the last sign of life. */
  private aliveAt = 0;
  private handlerReductions = 0;
  private handlerReduced = false;
  private readonly known = new Map<number, { reductions: number; reduced: boolean }>();

  constructor(
    private readonly deps: AllowanceDeps,
    private readonly schedule: Schedule,
  ) {}

  /**
   * Reads what the dispatch begins with: the activity may have waited for its worker. False: it
   * holds nothing any more.
   */
  async begin(): Promise<boolean> {
    const { pool, input } = this.deps;
    const now = performance.now();
    const own = await readDispatchSlots(pool, input.leaderId, input.no);
    if (own === null) return false;
    this.schedule.setSlots(Math.min(own.slots, input.slots));
    this.aliveAt = now - own.seenAgoMs;
    return this.mayCall(now) || (await this.touch(input.slots)).known;
  }

  /** The rates have changed since the starts of the calls were planned: the rest is handed back. */
  repaced = false;

  /** Remembers the limits as they were when these batches were read. */
  know(batches: readonly CarriedBatch[]): void {
    for (const { targetId, targetReductions, handlerReductions, reduced } of batches) {
      this.known.set(targetId, { reductions: targetReductions, reduced });
      this.handlerReductions = handlerReductions;
    }
  }

  /**
   * Stamps a batch before its call with the limits known now, under which its outcome is judged.
   */
  stamp(batch: CarriedBatch): CarriedBatch {
    const target = this.known.get(batch.targetId);
    return {
      ...batch,
      reduced: this.handlerReduced || (target?.reduced ?? batch.reduced),
      targetReductions: target?.reductions ?? batch.targetReductions,
      handlerReductions: this.handlerReductions,
    };
  }

  /**
   * Says whether a call may start; false: wait for the next sign of life, since another dispatch
   * may have the slots.
   */
  mayCall(now: number): boolean {
    return now - this.aliveAt < CALLS_FOR_MS;
  }

  /**
   * Gives a sign of life and returns what the dispatch still holds. `known`: false where it has
   * lost its slots and none are free.
   */
  async touch(needed: number): Promise<{ known: boolean; wanted: boolean; handlerId: number }> {
    const { pool, input, node } = this.deps;
    const now = performance.now();
    const touched = await touchDispatch(pool, input.leaderId, input.no, needed, node);
    if (!touched.known) {
      const pressure = await readPressure(pool, input.leaderId, input.no, []);
      if (pressure === null) return touched;
      const slots = await this.adjust(pressure, needed);
      if (slots === 0) return touched;
      this.schedule.setSlots(slots);
      this.aliveAt = now;
      return { known: true, wanted: false, handlerId: pressure.handlerId };
    }
    this.aliveAt = now;
    return touched;
  }

  /**
   * Reads the limits again and applies them. Returns batches to hand back because they are held for
   * too long; null: no slot is left.
   */
  async look(): Promise<CarriedBatch[] | null> {
    const { pool, input } = this.deps;
    const targets = [...this.schedule.targets()];
    const known = targets.map((id) => ({ id, reductions: this.known.get(id)?.reductions ?? 0 }));
    const pressure = await readPressure(pool, input.leaderId, input.no, known);
    if (pressure === null) return null;
    const now = performance.now();
    this.follow(pressure, targets, now);
    const { taken, limit, wanted, sharedOver } = pressure;
    const more = Math.max(pressure.slots, this.schedule.slotsWanted(now));
    let { slots } = pressure;
    if (taken > limit || sharedOver || (taken < limit && more > slots && !wanted))
      slots = await this.adjust(pressure, more);
    else if (taken < limit && wanted)
      await wake(this.deps, await wakeForFreeSlots(pool, pressure.handlerId, input.leaderId, WAKE_LEASE_MS));
    this.schedule.setSlots(slots);
    return slots === 0 && !this.schedule.isEmpty() ? null : this.schedule.takeHeld(now + IN_PROCESS_MS);
  }

  private follow(pressure: Pressure, targets: readonly number[], now: number): void {
    this.repaced ||= pressure.repaced;
    this.handlerReductions = pressure.reductions;
    this.handlerReduced = pressure.reduced;
    if (pressure.holdInMs !== null) this.schedule.holdAll(now + pressure.holdInMs);
    const held = new Map(pressure.targets.map((target) => [target.id, target]));
    for (const id of targets) {
      const target = held.get(id);
      if (target === undefined) {
        this.schedule.setLimit(id, pressure.perTarget);
        this.known.set(id, { reductions: this.known.get(id)?.reductions ?? 0, reduced: false });
        continue;
      }
      const { calls, others, reduced, own, reductions, holdInMs } = target;
      this.schedule.setLimit(id, reduced || own ? Math.max(0, calls - others) : calls);
      this.known.set(id, { reductions, reduced });
      if (holdInMs !== null) this.schedule.holdTarget(id, now + holdInMs);
    }
  }

  private adjust({ handlerId }: Pressure, wanted: number): Promise<number> {
    const { leaderId, no } = this.deps.input;
    return adjust(this.deps.pool, { handlerId, leaderId, no, wanted });
  }
}

const adjust = (pool: Pool, dispatch: Parameters<typeof adjustSlots>[1]): Promise<number> =>
  withRetries(() => inTransaction(pool, (client) => adjustSlots(client, dispatch), BEGIN_SHORT));

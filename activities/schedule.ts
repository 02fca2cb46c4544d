import type { CarriedBatch } from '../postgres/batch';
import type { Carried } from './submission';

/**
 * Which batch of a submission goes next: pure bookkeeping, no I/O. A batch is pending (in the store's hands as far as calls go), being
 * prepared, prepared (marked, waits for a slot), or in a call. Calls keep to the submission's slots and to each target's limit.
 * Times are `performance.now()` ms.
 */
export class Schedule {
  private pending: { batch: CarriedBatch; at: number }[] = [];
  private readonly ready: Carried[] = [];
  private preparing = 0;
  private calls = 0;
  private readonly callsOf = new Map<number, number>();
  private readonly preparedOf = new Map<number, number>();
  private readonly heldUntil = new Map<number, number>();

  constructor(private readonly slots: number) {}

  add(batch: CarriedBatch, at: number): void {
    this.pending.push({ batch, at });
  }

  isEmpty(): boolean {
    return this.pending.length === 0 && this.ready.length === 0 && this.preparing === 0 && this.calls === 0;
  }

  /** Nothing of the target before then; its pending batches wait. */
  holdTarget(targetId: number, until: number): void {
    this.heldUntil.set(targetId, Math.max(until, this.heldUntil.get(targetId) ?? 0));
  }

  /**
   * The next group to mark and read: as many as would keep the slots busy through one more round, never more of a target than its limit
   * (a mark is a promise to call soon). One group at a time.
   */
  takeForPreparation(now: number): CarriedBatch[] {
    if (this.preparing > 0 || this.ready.length >= this.slots) return [];
    const group: CarriedBatch[] = [];
    const most = 2 * this.slots - this.ready.length;
    this.pending = this.pending.filter((entry) => {
      if (group.length >= most || this.startOf(entry) > now) return true;
      const { batch } = entry;
      const own = (this.callsOf.get(batch.targetId) ?? 0) + (this.preparedOf.get(batch.targetId) ?? 0);
      if (own >= batch.perTarget) return true;
      this.preparedOf.set(batch.targetId, (this.preparedOf.get(batch.targetId) ?? 0) + 1);
      group.push(batch);
      return false;
    });
    this.preparing += group.length;
    return group;
  }

  /** The preparation of `group` ended; `carried` of it may be called. */
  prepared(group: readonly CarriedBatch[], carried: readonly Carried[]): void {
    this.preparing -= group.length;
    for (const batch of group) this.less(this.preparedOf, batch.targetId);
    for (const one of carried) {
      this.preparedOf.set(one.batch.targetId, (this.preparedOf.get(one.batch.targetId) ?? 0) + 1);
      this.ready.push(one);
    }
  }

  takeForCall(): Carried | null {
    if (this.calls >= this.slots) return null;
    const next = this.ready.shift();
    if (next === undefined) return null;
    const { targetId } = next.batch;
    this.less(this.preparedOf, targetId);
    this.calls++;
    this.callsOf.set(targetId, (this.callsOf.get(targetId) ?? 0) + 1);
    return next;
  }

  callEnded(targetId: number): void {
    this.calls--;
    this.less(this.callsOf, targetId);
  }

  /** All that was not marked yet, for handing back. */
  takeUnstarted(): CarriedBatch[] {
    const rest = this.pending.map(({ batch }) => batch);
    this.pending = [];
    return rest;
  }

  /** When the next batch that waits for its time may start. One that waits for a slot does not count: the end of a call tells. */
  nextStartAt(now: number): number {
    return this.pending.reduce((next, entry) => {
      const at = this.startOf(entry);
      return at > now ? Math.min(next, at) : next;
    }, Infinity);
  }

  slotsNeeded(): number {
    return Math.min(this.slots, this.calls + this.ready.length + this.preparing + this.pending.length);
  }

  hasOnlyCalls(): boolean {
    return this.pending.length === 0 && this.ready.length === 0 && this.preparing === 0;
  }

  /** Targets whose last calls are running: nothing else of them waits here, so they need not wait for this submission. */
  stragglers(): number[] {
    const waiting = new Set([...this.pending, ...this.ready].map(({ batch }) => batch.targetId));
    return [...this.callsOf].filter(([target, calls]) => calls > 0 && !waiting.has(target)).map(([target]) => target);
  }

  private startOf({ batch, at }: { batch: CarriedBatch; at: number }): number {
    return Math.max(at, this.heldUntil.get(batch.targetId) ?? 0);
  }

  private less(counts: Map<number, number>, key: number): void {
    const left = (counts.get(key) ?? 0) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  }
}

import type { CarriedBatch } from '../../postgres/calls/batch';
import type { Carried } from './carried';

/**
 * Decides which batch of a dispatch goes next: pure bookkeeping, no I/O. A batch is pending (not
 * marked yet), being prepared, prepared (marked, waits for a slot), or in a call. Calls keep to the
 * dispatch's slots and to each target's limit, which may change while it runs. Times are
 * `performance.now()` ms.
 */
export class Schedule {
  private pending: { batch: CarriedBatch; at: number }[] = [];
  private ready: Carried[] = [];
  private preparing = 0;
  private calls = 0;
  private readonly callsOf = new Map<number, number>();
  private readonly preparedOf = new Map<number, number>();
  private readonly heldUntil = new Map<number, number>();
  private allHeldUntil = 0;
  private readonly limits = new Map<number, number>();

  constructor(private slots: number) {}

  add(batch: CarriedBatch, at: number): void {
    this.pending.push({ batch, at });
  }

  isEmpty(): boolean {
    return this.pending.length === 0 && this.ready.length === 0 && this.preparing === 0 && this.calls === 0;
  }

  /** Sets how many calls may run at once; those that are running go on. */
  setSlots(slots: number): void {
    this.slots = slots;
  }

  /** Sets how many calls of one target may run at once. */
  setLimit(targetId: number, calls: number): void {
    this.limits.set(targetId, calls);
  }

  /** Holds a target until then; its pending batches wait. */
  holdTarget(targetId: number, until: number): void {
    this.heldUntil.set(targetId, Math.max(until, this.heldUntil.get(targetId) ?? 0));
  }

  /** Holds everything until then. */
  holdAll(until: number): void {
    this.allHeldUntil = Math.max(until, this.allHeldUntil);
  }

  /** Returns the targets of all batches here. */
  targets(): Set<number> {
    const targets = new Set(this.callsOf.keys());
    for (const { batch } of [...this.pending, ...this.ready]) targets.add(batch.targetId);
    for (const target of this.preparedOf.keys()) targets.add(target);
    return targets;
  }

  /**
   * Returns the next group to read and mark: as many as would keep the slots busy through one more
   * round, never more of a target than its limit (a mark is a promise to call soon). One group at a
   * time.
   */
  takeForPreparation(now: number): CarriedBatch[] {
    if (this.preparing > 0 || this.ready.length >= this.slots) return [];
    const group: CarriedBatch[] = [];
    const most = 2 * this.slots - this.ready.length;
    this.pending = this.pending.filter((entry) => {
      if (group.length >= most || this.startOf(entry) > now) return true;
      const { batch } = entry;
      const own = (this.callsOf.get(batch.targetId) ?? 0) + (this.preparedOf.get(batch.targetId) ?? 0);
      if (own >= this.limitOf(batch)) return true;
      this.preparedOf.set(batch.targetId, (this.preparedOf.get(batch.targetId) ?? 0) + 1);
      group.push(batch);
      return false;
    });
    this.preparing += group.length;
    return group;
  }

  /** Ends the preparation of `group`; `carried` of it may be called. */
  prepared(group: readonly CarriedBatch[], carried: readonly Carried[]): void {
    this.preparing -= group.length;
    for (const batch of group) this.less(this.preparedOf, batch.targetId);
    for (const one of carried) {
      this.preparedOf.set(one.batch.targetId, (this.preparedOf.get(one.batch.targetId) ?? 0) + 1);
      this.ready.push(one);
    }
  }

  /**
   * Returns the next call, if a slot is free for it. Skips those that may not go now: `takeBack`
   * takes those.
   */
  takeForCall(now: number): Carried | null {
    if (this.calls >= this.slots) return null;
    const at = this.ready.findIndex(({ batch }) => this.isFree(batch.targetId, now) && this.hasRoom(batch));
    const [next] = at < 0 ? [] : this.ready.splice(at, 1);
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

  /**
   * Removes and returns prepared calls for which the present limits or holds leave no room: their
   * marks are to be given up.
   */
  takeBack(now: number): Carried[] {
    const own = new Map(this.callsOf);
    let room = Math.max(this.slots, 2 * this.slots - this.calls);
    const kept: Carried[] = [];
    const back: Carried[] = [];
    for (const one of this.ready) {
      const { targetId } = one.batch;
      const of = own.get(targetId) ?? 0;
      const stays = room > 0 && this.isFree(targetId, now) && of < this.limitOf(one.batch);
      if (stays) {
        room--;
        own.set(targetId, of + 1);
      } else this.less(this.preparedOf, targetId);
      (stays ? kept : back).push(one);
    }
    this.ready = kept;
    return back;
  }

  /** Removes and returns all prepared calls: their marks are to be given up. */
  takeReady(): Carried[] {
    const ready = this.ready;
    this.ready = [];
    for (const { batch } of ready) this.less(this.preparedOf, batch.targetId);
    return ready;
  }

  /** Removes and returns all that was not marked yet, to be handed back. */
  takeUnstarted(): CarriedBatch[] {
    const rest = this.pending.map(({ batch }) => batch);
    this.pending = [];
    return rest;
  }

  /**
   * Removes and returns pending batches of targets that are held until later than `until`: keeping
   * them gains nothing.
   */
  takeHeld(until: number): CarriedBatch[] {
    const isHeld = ({ targetId }: CarriedBatch): boolean => !this.isFree(targetId, until);
    const held = this.pending.filter(({ batch }) => isHeld(batch)).map(({ batch }) => batch);
    if (held.length > 0) this.pending = this.pending.filter(({ batch }) => !isHeld(batch));
    return held;
  }

  /**
   * Returns when the next batch that waits for its time may start. One that waits for a slot does
   * not count: it starts at the end of a call.
   */
  nextStartAt(now: number): number {
    return this.pending.reduce((next, entry) => {
      const at = this.startOf(entry);
      return at > now ? Math.min(next, at) : next;
    }, Infinity);
  }

  slotsNeeded(): number {
    return Math.min(this.slots, this.calls + this.ready.length + this.preparing + this.pending.length);
  }

  /** Returns the number of slots that could be used now. */
  slotsWanted(now: number): number {
    const startable = [
      ...this.ready.map(({ batch }) => batch),
      ...this.pending.filter((entry) => this.startOf(entry) <= now).map(({ batch }) => batch),
    ];
    const own = new Map(this.callsOf);
    for (const batch of startable) {
      const of = own.get(batch.targetId) ?? 0;
      if (of < this.limitOf(batch)) own.set(batch.targetId, of + 1);
    }
    return [...own.values()].reduce((sum, calls) => sum + calls, 0) + this.preparing;
  }

  hasOnlyCalls(): boolean {
    return this.pending.length === 0 && this.ready.length === 0 && this.preparing === 0;
  }

  /**
   * Returns targets whose last calls are running: no other batch of theirs waits here, so they need
   * not wait for this dispatch.
   */
  stragglers(): number[] {
    const waiting = new Set([...this.pending, ...this.ready].map(({ batch }) => batch.targetId));
    return [...this.callsOf].filter(([target, calls]) => calls > 0 && !waiting.has(target)).map(([target]) => target);
  }

  private startOf({ batch, at }: { batch: CarriedBatch; at: number }): number {
    return Math.max(at, this.allHeldUntil, this.heldUntil.get(batch.targetId) ?? 0);
  }

  private isFree(targetId: number, at: number): boolean {
    return this.allHeldUntil <= at && (this.heldUntil.get(targetId) ?? 0) <= at;
  }

  private hasRoom(batch: CarriedBatch): boolean {
    return (this.callsOf.get(batch.targetId) ?? 0) < this.limitOf(batch);
  }

  private limitOf(batch: CarriedBatch): number {
    return this.limits.get(batch.targetId) ?? batch.perTarget;
  }

  private less(counts: Map<number, number>, key: number): void {
    const left = (counts.get(key) ?? 0) - 1;
    if (left > 0) counts.set(key, left);
    else counts.delete(key);
  }
}

import { concludeEarlier, makeCall } from '../../../activities/calls/attempt';
import type { Call } from '../../../activities/calls/call';
import type { CallEnd } from '../../../activities/calls/door';
import type { CallerDeps } from '../../../activities/calls/carried';
import type { QueueHome } from '../../../activities/calls/queueHome';
import { settle } from '../../../activities/calls/settle';
import { workOffEnded } from '../../../activities/grouping/dependents';
import { storedVersionOf } from '../../../handlers/contracts/payloadVersion';
import type { Handler } from '../../../handlers/types';
import type { CarriedBatch } from '../../../postgres/calls/batch';
import type { MemberTask } from '../../../postgres/calls/members';
import type { Pool } from '../../../postgres/pool';
import { storedBatch } from './carried';
import type { BatchRow, Tables } from './tables';
import { membersIn } from './tables';

/** Told of each call, once it has ended. */
export type OnCall = (batch: BatchRow, members: readonly MemberTask[], outcome: CallEnd) => void;

/**
 * Makes the calls of a simulated store, one after the other: the product's call and settlement, on
 * a store in memory. A call takes no time.
 */
export class Caller {
  private readonly deps: CallerDeps;

  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
    private readonly pool: Pool,
    home: QueueHome,
    private readonly onCall: OnCall,
  ) {
    const { signal } = new AbortController();
    // What a call of a batch outside of lanes and partitions uses of what a worker has.
    this.deps = { pool, handler, home, signal, use: null } as unknown as CallerDeps;
  }

  /** Calls the batch and writes what came of it; hands it back if it may not be sent now. */
  async call(batch: BatchRow): Promise<void> {
    if (this.isHeld(batch)) {
      batch.carried = false;
      return;
    }
    if (batch.marked) return this.lookUp(batch);
    const { nowMs } = this.tables;
    batch.attempt++;
    batch.marked = true;
    batch.retryAtMs = null;
    batch.calledAtMs = nowMs;
    batch.startedAtMs ??= nowMs;
    const version = storedVersionOf(this.deps.handler);
    const members = membersIn(batch).map(({ seq, id, payload, attempts }): MemberTask => {
      return {
        batchId: batch.id,
        seq,
        id,
        payload,
        attempts: attempts + batch.counted,
        recipientId: null,
        version,
        trace: null,
        tracedAtMs: null,
      };
    });
    const before = this.carriedOf(batch);
    before.attempt--;
    const carried = { batch: before, members, attempt: batch.attempt, markedAtMs: performance.now(), fence: null };
    const { call, outcome } = await makeCall(this.deps, carried);
    this.onCall(batch, members, outcome);
    await this.settle(call, outcome);
  }

  /** Concludes an attempt whose outcome is not known, by the handler's `reconcile`. */
  private async lookUp(batch: BatchRow): Promise<void> {
    const { call, outcome } = await concludeEarlier(this.deps, this.carriedOf(batch));
    await this.settle(call, outcome);
  }

  /** The end of a call brings a leader back that waits for what it held. */
  private async settle(call: Call, outcome: CallEnd): Promise<void> {
    await settle(call, outcome);
    if (this.tables.ended.length > 0) await workOffEnded(this.pool);
    this.tables.handler.blockedUntilMs = null;
  }

  private isHeld({ target }: BatchRow): boolean {
    const { nowMs, handler } = this.tables;
    const isPaused = target.pausedFor !== null || handler.pausedFor !== null;
    return isPaused || Math.max(target.holdMs ?? 0, handler.holdMs ?? 0) > nowMs;
  }

  private carriedOf(batch: BatchRow): CarriedBatch {
    const { nowMs } = this.tables;
    const now = performance.now();
    const stored = storedBatch(batch, this.handler, nowMs);
    // The same ages by the clock of this process, by which the product counts them.
    const here = (atMs: number | null): number | null => (atMs === null ? null : now - (nowMs - atMs));
    stored.firstCallAtMs = here(stored.firstCallAtMs);
    stored.lastCallAtMs = here(stored.lastCallAtMs);
    stored.aheadMs = nowMs - now;
    return stored;
  }
}

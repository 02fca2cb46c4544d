import { concludeEarlier, makeCall } from '../../../activities/calls/attempt';
import type { Call, Home } from '../../../activities/calls/call';
import type { CallEnd } from '../../../activities/calls/door';
import type { CallerDeps } from '../../../activities/calls/carried';
import { dependenciesOf } from '../../../activities/lanes/handOver';
import { Checkpoints } from '../../../activities/nodes/checkpoints';
import type { BatchDependency, CallLog } from '../../../handlers/contract';
import { returnGranted } from '../../../postgres/lanes/submitter';
import { settle } from '../../../activities/calls/settle';
import { workOffEnded } from '../../../activities/grouping/dependents';
import { storedVersionOf } from '../../../handlers/contracts/payloadVersion';
import type { Handler } from '../../../handlers/types';
import type { CarriedBatch } from '../../../postgres/calls/batch';
import type { MemberTask } from '../../../postgres/calls/members';
import type { Pool } from '../../../postgres/pool';
import { storedBatch } from './carried';
import type { Serving } from './nodes/nodeTables';
import type { Tables } from './tables';
import { membersIn } from './tables';
import type { BatchRow } from './rows';

/** Told of each call, once it has ended; `serving`: the node that made it, with affinity. */
export type OnCall = (
  batch: BatchRow,
  members: readonly MemberTask[],
  outcome: CallEnd,
  serving: Serving | null,
) => void;

/**
 * Makes the calls of a simulated store, one after the other: the product's call and settlement, on
 * a store in memory. A call takes no time.
 */
export class Caller {
  private readonly deps: CallerDeps;
  /** By node. */
  private readonly checkpoints = new Map<string, Checkpoints>();

  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
    private readonly pool: Pool,
    home: Home,
    log: CallLog,
    private readonly onCall: OnCall,
  ) {
    const { signal } = new AbortController();
    // What a call of a batch outside of lanes and partitions uses of what a worker has.
    this.deps = { pool, handler, home, signal, log, use: null } as unknown as CallerDeps;
  }

  /** Calls the batch and writes what came of it; hands it back if it may not be sent now. */
  async call(batch: BatchRow): Promise<void> {
    if (this.isHeld(batch)) {
      batch.carried = false;
      return;
    }
    return batch.marked ? this.lookUp(batch) : this.send(batch);
  }

  /**
   * Calls a batch that a queuer granted. One that may not be sent any more goes back to its lane.
   */
  async callInLane(batch: BatchRow): Promise<void> {
    if (batch.marked) return this.lookUp(batch);
    const dependsOn = await dependenciesOf({ pool: this.pool, handler: this.handler }, batch);
    if (dependsOn === null || !this.isStillGranted(batch)) await returnGranted(this.pool, batch.id, 1, null);
    else await this.send(batch, dependsOn);
  }

  private async send(batch: BatchRow, dependsOn: readonly BatchDependency[] = []): Promise<void> {
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
    const serving = this.servingOf(batch);
    const marked = { attempt: batch.attempt, markedAtMs: performance.now(), fence: serving };
    const carried = { batch: before, members, ...marked, dependsOn };
    const { call, outcome } = await makeCall(this.depsOf(serving), carried);
    this.onCall(batch, members, outcome, serving);
    await this.settle(call, outcome);
  }

  /** Concludes an attempt whose outcome is not known, by the handler's `reconcile`. */
  private async lookUp(batch: BatchRow): Promise<void> {
    const { call, outcome } = await concludeEarlier(this.depsOf(this.servingOf(batch)), this.carriedOf(batch));
    await this.settle(call, outcome);
  }

  /** The end of a call brings a leader back that waits for what it held. */
  private async settle(call: Call, outcome: CallEnd): Promise<void> {
    await settle(call, outcome);
    if (this.tables.ended.length > 0) await workOffEnded(this.pool);
    this.tables.handler.blockedUntilMs = null;
  }

  /** Returns the node that calls the batch; null: the handler has no affinity. */
  private servingOf({ target, inLane }: BatchRow): Serving | null {
    const serving = this.tables.servingOf(inLane?.lane.service ?? target.key);
    return serving === 'any' ? null : serving;
  }

  /** Returns what a call uses on this node, which has the partition in hand. */
  private depsOf(serving: Serving | null): CallerDeps {
    if (serving === null) return this.deps;
    const { node } = serving;
    const checkpoints = this.checkpoints.get(node) ?? new Checkpoints(this.pool, node);
    this.checkpoints.set(node, checkpoints);
    return { ...this.deps, use: serving, partitions: { checkpoints } } as unknown as CallerDeps;
  }

  private isHeld({ target }: BatchRow): boolean {
    const { nowMs, handler } = this.tables;
    if (this.tables.servingOf(target.key) === null) return true;
    const isPaused = target.pausedFor !== null || handler.pausedFor !== null;
    return isPaused || Math.max(target.holdMs ?? 0, handler.holdMs ?? 0) > nowMs;
  }

  /** As the mark of a call in a lane asks: nothing was paused or halted since the grant. */
  private isStillGranted({ target, inLane }: BatchRow): boolean {
    const { handler, lanes } = this.tables;
    const { pausedFor, haltedBy, service } = inLane!.lane;
    if (this.tables.servingOf(service) === null) return false;
    const pauses = [pausedFor, haltedBy, target.pausedFor, handler.pausedFor, lanes.queuer.pausedFor];
    return pauses.every((one) => one === null);
  }

  private carriedOf(batch: BatchRow): CarriedBatch {
    const { nowMs } = this.tables;
    const now = performance.now();
    const stored = storedBatch(batch, this.handler, this.tables);
    // The same ages by the clock of this process, by which the product counts them.
    const here = (atMs: number | null): number | null => (atMs === null ? null : now - (nowMs - atMs));
    stored.firstCallAtMs = here(stored.firstCallAtMs);
    stored.lastCallAtMs = here(stored.lastCallAtMs);
    stored.aheadMs = nowMs - now;
    return stored;
  }
}

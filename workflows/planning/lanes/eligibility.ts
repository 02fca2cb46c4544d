import type { Blocker } from './approaches';
import { approachOf } from './approaches';
import { isInFlight } from './statuses';
import type { Lane, QueuedBatch } from './types';

/** Whether a batch may go now, or why it may not. */
export type Verdict =
  | { kind: 'may-go' }
  | { kind: 'in-flight' }
  | { kind: 'parked' }
  | { kind: 'not-before'; inMs: number }
  | { kind: 'dependency'; on: readonly number[] }
  | { kind: 'failed'; on: number }
  | { kind: 'unknown-first'; batch: QueuedBatch }
  | ({ kind: 'blocked' } & Blocker);

/**
 * Finds the batches of a lane that may go, in order. The plan itself checks pause, halt, hold and
 * back pressure. One walk forward suffices: a grant never frees a batch that was passed over, but
 * only blocks others.
 */
export class LaneWalk {
  private readonly passed: QueuedBatch[] = [];
  private at = 0;
  /** Milliseconds until the first of the batches passed over may go by time alone; null: none. */
  dueInMs: number | null = null;
  /** The handlers without a serving node whose batches were passed over, each once. */
  readonly unservedBy: number[] = [];
  /**
   * The parked batch at which the walk stopped, which halts the lane unless the lane is halted
   * already.
   */
  parked: number | null = null;
  readonly failures: { batchId: number; on: number }[] = [];
  /** The walk stopped before the end of the given batches: no batch further back may go. */
  private closed = false;

  constructor(private readonly lane: Lane) {}

  /**
   * Returns the next batch that may go, which the caller grants; null: none. Adds the failed
   * batches on the way to `failures`.
   */
  next(): QueuedBatch | null {
    const { open, onInvalid } = this.lane;
    while (!this.closed && this.at < open.length) {
      const batch = open[this.at]!;
      const verdict = judge(this.lane, batch, this.passed, this.at);
      // In halt mode the failure of the batch halts the lane, and has to wait until all batches
      // before it have ended.
      if (verdict.kind === 'failed' && (onInvalid !== 'halt' || this.passed.length === 0)) {
        this.failures.push({ batchId: batch.id, on: verdict.on });
        this.closed = onInvalid === 'halt';
        this.at += 1;
        continue;
      }
      if (verdict.kind === 'not-before') {
        this.dueInMs = Math.min(this.dueInMs ?? Infinity, verdict.inMs);
        const { unservedBy } = batch;
        if (unservedBy !== undefined && !this.unservedBy.includes(unservedBy)) this.unservedBy.push(unservedBy);
      }
      if (verdict.kind === 'parked') this.parked = batch.id;
      const goes = verdict.kind === 'may-go';
      this.passed.push(goes ? { ...batch, status: 'submitted', resolving: batch.status === 'unknown' } : batch);
      this.at += 1;
      // While a batch is unknown or parked, no batch after it goes: such batches are resolved one
      // after the other. And where order alone blocks a batch, it blocks all that follow.
      this.closed = isUnresolved(batch) || (verdict.kind === 'blocked' && verdict.key === null);
      if (goes) return batch;
    }
    return null;
  }

  /** Says whether no batch after the given ones may go. */
  get sawAll(): boolean {
    return this.closed || !this.lane.openMore;
  }
}

/**
 * Judges `batch`, given the open batches before it in its lane; `at` is its index in `lane.open`.
 */
const judge = (lane: Lane, batch: QueuedBatch, earlier: readonly QueuedBatch[], at: number): Verdict => {
  if (isInFlight(batch.status)) return { kind: 'in-flight' };
  if (batch.status === 'parked') return { kind: 'parked' };
  // Refused for now, it has not been applied. One of unknown outcome is resolved.
  if (batch.failedOn !== null && batch.status !== 'unknown') return { kind: 'failed', on: batch.failedOn };
  // Of a batch that was sent only where the downstream lost what it depends on.
  if (batch.waitsFor.length > 0) return { kind: 'dependency', on: batch.waitsFor };
  const unknown = earlier.find(isUnresolved);
  if (unknown !== undefined) return { kind: 'unknown-first', batch: unknown };
  const { approach, kind } = approachOf(lane);
  const later = lane.open.slice(at + 1).filter(({ status }) => isInFlight(status));
  const blocker = approach.blockedBy(batch, earlier, later, kind) ?? resolvedBefore(batch, earlier);
  if (blocker !== null) return { kind: 'blocked', ...blocker };
  if (batch.notBeforeInMs !== null && batch.notBeforeInMs > 0) return { kind: 'not-before', inMs: batch.notBeforeInMs };
  return { kind: 'may-go' };
};

/** Says whether the outcome of the batch is unknown, or is being looked up right now. */
const isUnresolved = ({ status, resolving }: QueuedBatch): boolean =>
  status === 'unknown' || status === 'parked' || (status === 'submitted' && resolving === true);

/**
 * Returns a submitted batch before an unknown one. The unknown one must wait for it, since it may
 * become unknown too, and only the oldest unknown batch of a lane is looked up at a time.
 */
const resolvedBefore = (batch: QueuedBatch, earlier: readonly QueuedBatch[]): Blocker | null => {
  if (batch.status !== 'unknown') return null;
  const sent = earlier.find(({ status }) => status === 'submitted');
  return sent === undefined ? null : { batch: sent, key: null };
};

/**
 * Returns the verdict on the batch with this id, with all batches before it as they are now. Null:
 * it is not among the given open batches of the lane, or depends on keys that were not read.
 */
export const verdictOn = (lane: Lane, batchId: number): Verdict | null => {
  const at = lane.open.findIndex(({ id }) => id === batchId);
  if (at < 0) return null;
  const batch = lane.open[at]!;
  const verdict = judge(lane, batch, lane.open.slice(0, at), at);
  const isUnread = verdict.kind === 'blocked' && verdict.key !== null && isAnyUnread(batch, verdict.batch);
  return isUnread ? null : verdict;
};

/** Says whether it is unknown whether two batches conflict. */
export const isAnyUnread = (...batches: readonly QueuedBatch[]): boolean =>
  batches.some(({ keysUnread }) => keysUnread === true);

import type { Blocker } from './approaches';
import { approachOf } from './approaches';
import { isInFlight } from './statuses';
import type { Lane, QueuedBatch } from './types';

/** Why a batch does not go now, or that it may. */
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
 * Finds which batches of a lane may go, in order; pause, halt, hold and back pressure are checked
 * by the plan. Walks forward once: a grant never frees a batch that was passed over, it only blocks
 * more.
 */
export class LaneWalk {
  private readonly passed: QueuedBatch[] = [];
  private at = 0;
  /** The earliest time at which a batch passed over may go by time alone. */
  dueInMs: number | null = null;
  /** The handlers, each once, that no node serves and whose batches were passed over. */
  readonly unservedBy: number[] = [];
  /** A parked batch at which it stopped: it halts the lane, if the lane is not halted yet. */
  parked: number | null = null;
  readonly failures: { batchId: number; on: number }[] = [];
  /** It stopped before the end of what was given: nothing further back may go. */
  private closed = false;

  constructor(private readonly lane: Lane) {}

  /**
   * Returns the next batch that may go; the caller grants it. Null: none. Failed ones on the way
   * are noted in `failures`.
   */
  next(): QueuedBatch | null {
    const { open, onInvalid } = this.lane;
    while (!this.closed && this.at < open.length) {
      const batch = open[this.at]!;
      const verdict = judge(this.lane, batch, this.passed, this.at);
      // In halt mode its failure halts the lane, which must wait until everything before it has
      // ended.
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
      // Lost or parked: nothing of the lane goes before it is resolved, one after the other. And
      // where order alone blocks one batch, it blocks all that follow.
      this.closed = isUnresolved(batch) || (verdict.kind === 'blocked' && verdict.key === null);
      if (goes) return batch;
    }
    return null;
  }

  /** Says whether nothing behind the given batches may go. */
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

/** Says whether its outcome is unknown, or is being looked up right now. */
const isUnresolved = ({ status, resolving }: QueuedBatch): boolean =>
  status === 'unknown' || status === 'parked' || (status === 'submitted' && resolving === true);

/** Returns the unknown batch that goes first: of several only the oldest is looked up at a time. */
const resolvedBefore = (batch: QueuedBatch, earlier: readonly QueuedBatch[]): Blocker | null => {
  if (batch.status !== 'unknown') return null;
  const sent = earlier.find(({ status }) => status === 'submitted');
  return sent === undefined ? null : { batch: sent, key: null };
};

/**
 * Returns the verdict on the batch with this id, all before it as they are. Null: it is not among
 * the lane's open batches given.
 */
export const verdictOn = (lane: Lane, batchId: number): Verdict | null => {
  const at = lane.open.findIndex(({ id }) => id === batchId);
  return at < 0 ? null : judge(lane, lane.open[at]!, lane.open.slice(0, at), at);
};

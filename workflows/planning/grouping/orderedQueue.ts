import type { CutBatch } from '../calls/plans';
import { APPROACHES, LANE_KINDS, ON_INVALID } from '../lanes/types';
import { cutBatches } from './batches';

/**
 * What is cut from the queue of a lane: a contiguous prefix of one target, so that nothing goes out
 * of order.
 */

/** A task in the queue of a lane. */
export interface QueuedTask {
  seq: number;
  targetId: number;
  bytes: number;
  weight: number | null;
  /** `distinctBy`. */
  key: string | null;
  readyAtMs: number;
}

/** The head of a lane's queue, and what may be cut from it. */
interface Head {
  limits: {
    maxItems: number;
    maxBytes: number | null;
    overheadBytes: number;
    maxWeight: number | null;
    minItems: number;
    lingerMs: number;
    quietMs: number | null;
    /** Most weight that may ever be in flight: a heavier batch could never go, so none is cut. */
    weightBudget: number | null;
  };
  flushSeq: number | null;
  nowMs: number;
}

/** Says whether each batch of a lane waits for the end of the one before. */
export const isStrict = (lane: { kind: number; approach: number; onInvalid: number }): boolean =>
  lane.onInvalid === ON_INVALID.halt ||
  (lane.approach === APPROACHES.serial && lane.kind === LANE_KINDS['non-guaranteed']);

/** What is cut first of a queue. */
export interface FirstCut {
  /** Null: none is due. */
  batch: CutBatch | null;
  /** When one is due by time alone; null: it is now, or never. */
  dueAtMs: number | null;
  /** The batch is all of the queue. */
  all: boolean;
}

/** Cuts the first batch of these tasks; `more`: the queue holds more than them. */
export const cutFirst = (head: Head, tasks: readonly QueuedTask[], more: boolean): FirstCut => {
  const prefix = tasks.slice(0, lengthOfPrefix(tasks));
  const isBounded = prefix.length < tasks.length;
  const { maxBytes, quietMs, maxWeight: ofBatch, weightBudget, ...limits } = head.limits;
  const maxWeight = weightBudget === null ? ofBatch : Math.min(weightBudget, ofBatch ?? Infinity);
  const cut = cutBatches(
    {
      tasks: prefix.map(({ seq, bytes, weight, readyAtMs }) => ({
        seq,
        bytes,
        weight: weight ?? 1,
        readyAtMs,
        key: null,
      })),
      more: more && !isBounded,
      limits: {
        ...limits,
        // The task behind it cannot join: this batch can take in no more.
        ...(isBounded ? { lingerMs: 0 } : {}),
        ...(maxBytes === null ? {} : { maxBytes }),
        ...(maxWeight === null ? {} : { maxWeight }),
        ...(quietMs === null ? {} : { quietPeriodMs: quietMs }),
      },
      flushSeq: head.flushSeq,
      busyKeys: new Map(),
      maxBatches: 1,
      weightLeft: Infinity,
    },
    head.nowMs,
  );
  const batch = cut.batches[0] ?? null;
  return { batch, dueAtMs: cut.dueAtMs, all: batch !== null && batch.seqs.length === tasks.length && !more };
};

/** Counts the tasks before the first that cannot join: of another target, or with a key twice. */
const lengthOfPrefix = (tasks: readonly QueuedTask[]): number => {
  const keys = new Set<string>();
  const other = tasks.findIndex(({ targetId, key }) => {
    if (targetId !== tasks[0]!.targetId || (key !== null && keys.has(key))) return true;
    if (key !== null) keys.add(key);
    return false;
  });
  return other < 0 ? tasks.length : other;
};

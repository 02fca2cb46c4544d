import type { CutBatch, CutInput, CutPlan, WaitingTask } from '../calls/plans';
import type { FlushReason } from '../states';

/**
 * Cuts what is due of one target's queue into batches. Greedy: contiguous prefixes of
 * what may go, which needs the fewest calls for a backlog (ceil(n/B)) and for arrivals (full, or
 * the oldest waited the linger).
 *
 * - A batch closes before the first task that would exceed a limit, so no limit is ever exceeded;
 *   only a task that is above a limit by itself (refused at submit) goes, alone, if it is there. A
 *   full batch is due at once.
 * - The rest, which is not full, is due when flushed by hand, when its oldest task has waited
 *   `lingerMs`, or when nothing arrived for `quietPeriodMs` and it has `minItems`. So `minItems`
 *   never delays past the linger.
 * - A task whose `distinctBy` key is busy, or that comes after another of its key, counts for
 *   nothing: neither towards a full batch nor towards a due time.
 * - Weight in flight is all or nothing: a due batch heavier than `weightLeft` blocks and is not
 *   shrunk (a smaller one would cost one more call). No deadlock: batches are cut to
 *   `weightBudget` too, so with the whole budget free the next one fits; a single task above the
 *   budget goes when the whole budget is free.
 *
 * The result for a queue does not depend on how much of it was read: what a short prefix cannot
 * decide is `readMore`.
 */
export function cutBatches(input: CutInput, nowMs: number): CutPlan {
  const waiting = withoutHeldKeys(input);
  const batches: CutBatch[] = [];
  let weightLeft = input.weightLeft;
  for (let from = 0; ;) {
    const next = fillBatch(waiting, from, input);
    const open = next.full === null;
    const mayGo = batches.length < input.maxBatches;
    if (open && input.more) return { batches, dueAtMs: nowMs, blocked: mayGo ? null : 'slots', readMore: mayGo };
    if (next.tasks.length === 0) return { batches, dueAtMs: null, blocked: null, readMore: false };

    const due = next.full === null ? dueOf(next.tasks, input, nowMs) : { reason: next.full, atMs: nowMs };
    if (due.reason === null) return { batches, dueAtMs: due.atMs, blocked: null, readMore: false };
    if (!mayGo) return { batches, dueAtMs: nowMs, blocked: 'slots', readMore: false };
    if (!fitsInFlight(next, weightLeft, input.weightBudget)) {
      return { batches, dueAtMs: nowMs, blocked: 'weight', readMore: false };
    }
    batches.push({
      seqs: next.tasks.map((task) => task.seq),
      reason: due.reason,
      bytes: next.bytes,
      weight: next.weight,
    });
    weightLeft -= next.weight;
    from += next.tasks.length;
  }
}

interface Filled {
  tasks: WaitingTask[];
  bytes: number;
  weight: number;
  /** The limit that closed it; null: all that remains fits and more would. */
  full: 'size' | 'bytes' | 'weight' | null;
}

/**
 * Returns the first task of each key, and none of a key that another task holds. The holder itself
 * may go wherever it is, or a retry would wait for itself.
 */
function withoutHeldKeys({ tasks, busyKeys }: CutInput): WaitingTask[] {
  const seen = new Set<string>();
  return tasks.filter(({ key, seq }) => {
    if (key === null) return true;
    const holder = busyKeys.get(key);
    if (holder !== undefined) return holder === seq;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

function fillBatch(waiting: readonly WaitingTask[], from: number, input: CutInput): Filled {
  const { maxItems, maxBytes = Infinity, overheadBytes, maxWeight = Infinity } = input.limits;
  const weightCap = Math.min(maxWeight, input.weightBudget ?? Infinity);
  const filled: Filled = { tasks: [], bytes: overheadBytes, weight: 0, full: null };
  for (let at = from; at < waiting.length; at++) {
    const task = waiting[at]!;
    if (filled.tasks.length > 0) {
      if (filled.tasks.length >= maxItems) return { ...filled, full: 'size' };
      if (filled.bytes + task.bytes > maxBytes) return { ...filled, full: 'bytes' };
      if (filled.weight + task.weight > weightCap) return { ...filled, full: 'weight' };
    }
    filled.tasks.push(task);
    filled.bytes += task.bytes;
    filled.weight += task.weight;
  }
  if (filled.tasks.length === 0) return filled;
  if (filled.tasks.length >= maxItems) return { ...filled, full: 'size' };
  // Exactly at a maximum: do not wait. Not with `more`: an unread task of no bytes or weight would
  // still fit.
  if (!input.more && filled.bytes >= maxBytes) return { ...filled, full: 'bytes' };
  if (!input.more && filled.weight >= weightCap) return { ...filled, full: 'weight' };
  return filled;
}

/**
 * Returns when a batch that is not full is due, and why if it is due now. Oldest and newest by
 * time: priority order is not arrival order.
 */
function dueOf(
  tasks: readonly WaitingTask[],
  { limits, flushSeq }: CutInput,
  nowMs: number,
): { reason: FlushReason | null; atMs: number } {
  let oldestMs = Infinity;
  let newestMs = -Infinity;
  let flushed = false;
  for (const { readyAtMs, seq } of tasks) {
    oldestMs = Math.min(oldestMs, readyAtMs);
    newestMs = Math.max(newestMs, readyAtMs);
    flushed ||= flushSeq !== null && seq <= flushSeq;
  }
  const { lingerMs, quietPeriodMs, minItems } = limits;
  const lingerAtMs = oldestMs + lingerMs;
  const quietAtMs = quietPeriodMs !== undefined && tasks.length >= minItems ? newestMs + quietPeriodMs : Infinity;
  if (flushed) return { reason: 'manual', atMs: nowMs };
  if (lingerAtMs <= nowMs) return { reason: 'linger', atMs: nowMs };
  if (quietAtMs <= nowMs) return { reason: 'quiet', atMs: nowMs };
  return { reason: null, atMs: Math.min(lingerAtMs, quietAtMs) };
}

function fitsInFlight(batch: Filled, weightLeft: number, weightBudget: number | undefined): boolean {
  if (batch.weight <= weightLeft) return true;
  return weightBudget !== undefined && batch.weight > weightBudget && weightLeft >= weightBudget;
}

import type { CutBatch, CutInput, CutPlan, WaitingTask } from '../calls/plans';
import type { FlushReason } from '../states';
import type { CoalescedTask } from './coalescing';
import { lastOfEachKey, supersededBy } from './coalescing';

/**
 * Cuts the due tasks of one target's queue into batches. The cut is greedy: each batch is the
 * longest contiguous run of the tasks that may go. That takes the fewest calls, both for a backlog
 * (ceil(n/B)) and for arrivals (a batch goes when it is full, or when its oldest task has waited
 * the linger).
 *
 * - A batch closes before the first task that would exceed a limit, so no batch of several tasks
 *   ever exceeds one. A single task that exceeds a limit is refused when it is submitted; if one is
 *   in the queue all the same, it goes alone. A full batch is due at once.
 * - The rest, which fills no batch, is due when it is flushed manually, when its oldest task has
 *   waited `lingerMs`, or when no task has arrived for `quietPeriodMs` and it has at least
 *   `minItems` tasks. So `minItems` never delays a task beyond the linger.
 * - A task whose `distinctBy` key is busy, or that comes after another task with its key, is
 *   ignored: it counts neither towards a full batch nor towards a due time.
 * - With `coalesceBy` only the last task of a key fills a batch, and has bytes and weight. But it
 *   is due when any task of its key is: it waits no longer than they would have.
 * - A due batch that is heavier than `weightLeft` blocks the queue and is not made smaller, which
 *   would cost one more call. That cannot deadlock: batches are also cut to `weightBudget`, so the
 *   next one fits once the whole budget is free, and a single task above the budget goes when the
 *   whole budget is free.
 *
 * The result for a queue does not depend on how much of it was read: `readMore` says that the
 * prefix was too short to decide. With `coalesceBy` it does: the last of what was read is taken.
 */
export function cutBatches(input: CutInput, nowMs: number): CutPlan {
  const coalesced = input.mostCollected === undefined ? null : lastOfEachKey(input.tasks);
  const waiting = coalesced ?? withoutHeldKeys(input);
  const batches: CutBatch[] = [];
  let weightLeft = input.weightLeft;
  for (let from = 0; ;) {
    const next = fillBatch(waiting, from, input);
    // Of an open batch: it has all that is left.
    const those = next.full === null ? (coalesced === null ? next.tasks : withEarlier(coalesced, from)) : [];
    if (those.length >= (input.mostCollected ?? Infinity)) next.full = 'size';
    const open = next.full === null;
    const mayGo = batches.length < input.maxBatches;
    if (open && input.more) return { batches, dueAtMs: nowMs, blocked: mayGo ? null : 'slots', readMore: mayGo };
    if (next.tasks.length === 0) return { batches, dueAtMs: null, blocked: null, readMore: false };

    const due = next.full === null ? dueOf(those, next.tasks.length, input, nowMs) : { reason: next.full, atMs: nowMs };
    if (due.reason === null) return { batches, dueAtMs: due.atMs, blocked: null, readMore: false };
    if (!mayGo) return { batches, dueAtMs: nowMs, blocked: 'slots', readMore: false };
    if (!fitsInFlight(next, weightLeft, input.weightBudget)) {
      return { batches, dueAtMs: nowMs, blocked: 'weight', readMore: false };
    }
    const to = from + next.tasks.length;
    const superseded = coalesced === null ? [] : supersededBy(coalesced.slice(from, to));
    batches.push({
      seqs: next.tasks.map((task) => task.seq),
      tasks: next.tasks,
      reason: due.reason,
      bytes: next.bytes,
      weight: next.weight,
      ...(superseded.length === 0 ? {} : { superseded }),
    });
    weightLeft -= next.weight;
    from = to;
  }
}

/** Returns the tasks from a place on, with those that are not sent. */
function withEarlier(coalesced: readonly CoalescedTask[], from: number): WaitingTask[] {
  return coalesced.slice(from).flatMap(({ earlier, ...task }) => [task, ...earlier]);
}

interface Filled {
  tasks: WaitingTask[];
  bytes: number;
  weight: number;
  /** The limit that closed the batch; null: all remaining tasks fit, and more would fit. */
  full: 'size' | 'bytes' | 'weight' | null;
}

/**
 * Returns the first task of each key, but none of a key that a task outside holds. The holder
 * itself may go wherever it is in the queue, or a retry would wait for itself.
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
  if (filled.tasks.length >= maxItems) return { ...filled, full: 'size' };
  // A batch exactly at a maximum does not wait for more. Not so with `more`: an unread task without
  // bytes or weight would still fit.
  if (!input.more && filled.bytes >= maxBytes) return { ...filled, full: 'bytes' };
  if (!input.more && filled.weight >= weightCap) return { ...filled, full: 'weight' };
  return filled;
}

/**
 * Returns when a batch that is not full is due, and the reason if it is due now. `sent` of the
 * tasks would be sent. The oldest and the newest are found by time, since the order of priority is
 * not the order of arrival.
 */
function dueOf(
  tasks: readonly WaitingTask[],
  sent: number,
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
  const quietAtMs = quietPeriodMs !== undefined && sent >= minItems ? newestMs + quietPeriodMs : Infinity;
  if (flushed) return { reason: 'manual', atMs: nowMs };
  if (lingerAtMs <= nowMs) return { reason: 'linger', atMs: nowMs };
  if (quietAtMs <= nowMs) return { reason: 'quiet', atMs: nowMs };
  return { reason: null, atMs: Math.min(lingerAtMs, quietAtMs) };
}

function fitsInFlight(batch: Filled, weightLeft: number, weightBudget: number | undefined): boolean {
  if (batch.weight <= weightLeft) return true;
  return weightBudget !== undefined && weightLeft >= weightBudget;
}

import type { TimeOrder } from '../../../workflows/planning/pages';
import type { EndedBatch, EndedOutcome } from '../../../postgres/listing/ended';

/** A part of what ended by time, newest first. */
export interface Looked<Row> {
  rows: readonly Row[];
  /** There may be older ones. */
  hasMore: boolean;
}

export type Step = { outcome: EndedOutcome } | { batch: EndedBatch };

/**
 * Merges tasks that ended by themselves with batches that ended as a whole, newest first, until
 * they have `limit` tasks. It ends where one of the two was not looked at any further: what is
 * older may come after what that one has. Rows that do not match are steps, too: they are passed.
 */
export const mergeEnded = (
  outcomes: Looked<EndedOutcome>,
  batches: Looked<EndedBatch>,
  limit: number,
): { steps: Step[]; isEnd: boolean } => {
  const floor = Math.max(floorOf(outcomes), floorOf(batches));
  const steps: Step[] = [];
  let [o, b, tasks] = [0, 0, 0];
  while (tasks < limit) {
    const outcome = outcomes.rows[o];
    const batch = batches.rows[b];
    if (outcome === undefined && batch === undefined) break;
    const takesBatch = outcome === undefined || (batch !== undefined && batch.us >= outcome.us);
    const row = takesBatch ? batch! : outcome;
    if (row.us < floor) break;
    if (takesBatch) b++;
    else o++;
    steps.push(takesBatch ? { batch: batch! } : { outcome: outcome });
    if (row.matches) tasks += takesBatch ? batch!.n : 1;
  }
  const isAll = o === outcomes.rows.length && b === batches.rows.length;
  return { steps, isEnd: isAll && !outcomes.hasMore && !batches.hasMore };
};

const floorOf = ({ rows, hasMore }: Looked<{ us: number }>): number => (hasMore ? rows.at(-1)!.us : -Infinity);

/**
 * Merges lists of waiting tasks, each in the same order, and returns the first `limit` that match.
 * It ends where one of the lists was not looked at any further; null: all of them were.
 */
export const mergeWaiting = (
  lists: readonly Looked<{ seq: number; matches: boolean }>[],
  order: TimeOrder,
  limit: number,
): { seqs: number[]; next: number | null } => {
  // As they come in the list, from the first to the last.
  const at = (seq: number): number => (order === 'newest' ? -seq : seq);
  const lookedTo = lists.flatMap(({ rows, hasMore }) => (hasMore ? [Math.max(...rows.map(({ seq }) => at(seq)))] : []));
  const end = Math.min(...lookedTo);
  const found = lists
    .flatMap(({ rows }) => rows.flatMap(({ seq, matches }) => (matches && at(seq) <= end ? [seq] : [])))
    .sort((a, b) => at(a) - at(b));
  const seqs = found.slice(0, limit);
  const floor = Number.isFinite(end) ? Math.abs(end) : null;
  return { seqs, next: found.length > limit ? seqs.at(-1)! : floor };
};

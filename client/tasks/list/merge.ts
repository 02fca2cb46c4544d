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

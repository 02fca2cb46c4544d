import type { SeqRange } from '../../../postgres/listing/accepted';
import { ALL_SEQS, halveToTime, walkBeforeTime, walkToTime } from '../../../postgres/listing/accepted';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { Pool, Queryable } from '../../../postgres/pool';

/** For how long a statement may have run before it drew its seqs: the most that ours run. */
const DRAWN_WITHIN_MS = 60_000;
/**
 * Most walks to the exact place, 20,000 rows each: where more than 8,000 tasks per second were
 * accepted, the range begins or ends too early, and parts of a page are empty.
 */
const MOST_WALKS = 25;

/**
 * Returns between which seqs the tasks are that were accepted in this time; null: since ever, or
 * until now. Others may be between them.
 */
export const acceptedIn = async (
  pool: Pool,
  { since, until }: { since: Date | null; until: Date | null },
): Promise<SeqRange> => {
  if (since === null && until === null) return ALL_SEQS;
  return inOrder(pool, async (db) => ({
    from: since === null ? ALL_SEQS.from : await findFrom(db, since.getTime()),
    to: until === null ? ALL_SEQS.to : await findUntil(db, until.getTime()),
  }));
};

/** Returns a seq before which no task was accepted at this time or later. */
const findFrom = async (db: Queryable, ms: number): Promise<number> => {
  let from = await halveToTime(db, ms - DRAWN_WITHIN_MS);
  for (let walks = 0; walks < MOST_WALKS; walks++) {
    const { seq, isFound } = await walkToTime(db, ms, from);
    if (seq === null) break;
    if (isFound) return seq;
    from = seq + 1;
  }
  return from;
};

/** Returns a seq after which no task was accepted before this time. */
const findUntil = async (db: Queryable, ms: number): Promise<number> => {
  let before = await halveToTime(db, ms + DRAWN_WITHIN_MS);
  for (let walks = 0; walks < MOST_WALKS; walks++) {
    const { seq, isFound } = await walkBeforeTime(db, ms, before);
    if (seq === null) break;
    if (isFound) return seq;
    before = seq;
  }
  return before;
};

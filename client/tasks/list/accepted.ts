import type { SeqRange } from '../../../postgres/listing/accepted';
import { ALL_SEQS, findAcceptedFrom, findAcceptedUntil } from '../../../postgres/listing/accepted';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { Pool } from '../../../postgres/pool';

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
    from: since === null ? ALL_SEQS.from : await findAcceptedFrom(db, since.getTime()),
    to: until === null ? ALL_SEQS.to : await findAcceptedUntil(db, until.getTime()),
  }));
};

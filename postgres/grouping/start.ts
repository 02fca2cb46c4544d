import type { Queryable } from '../pool';

/** Writes when the calls of taken batches may start, as that of a new batch. */
export const startTakenBatches = async (
  db: Queryable,
  starts: readonly { id: number; startAtMs: number }[],
): Promise<void> => {
  await db.query({
    name: 'start-taken-batches',
    text: `
update batch b set retry_at = to_timestamp(p.start_at_ms / 1000)
from unnest($1::bigint[], $2::float8[]) p (id, start_at_ms)
where b.id = any($1::bigint[]) and b.id = p.id`,
    values: [starts.map(({ id }) => id), starts.map(({ startAtMs }) => startAtMs)],
  });
};

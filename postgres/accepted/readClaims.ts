import type { Queryable } from '../pool';

/**
 * Claims several batches as `claimRead` claims one, and returns the attempt number under which the
 * results of each are read. A batch that is missing was claimed by another reader, or has ended.
 */
export const claimReads = async (
  db: Queryable,
  batches: readonly { id: number; attempt: number }[],
  leaseMs: number,
): Promise<Map<number, number>> => {
  const { rows } = await db.query<{ id: number; attempt: number }>({
    name: 'claim-reads',
    text: `
update batch b set attempt = b.attempt + 1, read_at = clock(),
  poll_at = case when b.state = 1 /* open */ then clock() + $3 * interval '1 ms' end
from unnest($1::bigint[], $2::int[]) p (id, attempt)
where b.id = any($1::bigint[]) and b.id = p.id and b.attempt = p.attempt and b.reference is not null
  and b.state + 0 in (1, 3)
returning b.id, b.attempt`,
    values: [batches.map(({ id }) => id), batches.map(({ attempt }) => attempt), leaseMs],
  });
  return new Map(rows.map(({ id, attempt }) => [id, attempt]));
};

import type { ListScope } from '../listing/waiting';
import type { Client, Queryable } from '../pool';

/** Statements about tasks that ended by themselves, for bulk actions. */

/**
 * Locks those that still have the end which they were found with: in this state, in this batch.
 * Skips what another redrive is taking.
 */
export const lockEnds = async (
  client: Client,
  ends: readonly { seq: number; batchId: number | null }[],
  state: number,
): Promise<number[]> => {
  const { rows } = await client.query<{ seq: number }>({
    name: 'lock-ends',
    text: `
select o.seq
from unnest($1::bigint[], $2::bigint[]) u (seq, batch_id) join outcome o on o.seq = u.seq and o.batch_id = u.batch_id
where o.state = $3::smallint
order by o.seq for update of o skip locked`,
    values: [ends.map(({ seq }) => seq), ends.map(({ batchId }) => batchId), state],
  });
  return rows.map(({ seq }) => seq);
};

/**
 * Lists tasks that failed with a task which they depend on, as they were accepted: what they depend
 * on comes first.
 */
export const listFailedDependents = async (
  db: Queryable,
  { handlerId, target }: ListScope,
  afterSeq: number,
  limit: number,
): Promise<number[]> => {
  const { rows } = await db.query<{ seq: number }>({
    name: 'list-failed-dependents',
    text: `
select o.seq
from target t join outcome o on o.target_id = t.id and o.state = 5 /* failed */
where t.handler_id = $1 and ($2::text is null or t.key = $2) and o.batch_id is null and o.seq > $3
order by o.seq limit $4`,
    values: [handlerId, target, afterSeq, limit],
  });
  return rows.map(({ seq }) => seq);
};

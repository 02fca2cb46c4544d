import { OF_ANOTHER_TENANT, SUPERSEDED_BY } from '../../workflows/planning/grouping/coalescing';
import type { Queryable } from '../pool';

/** A queued task that is not sent, where the claim has read it, and the one that goes for it. */
export interface SupersededRow {
  place: string;
  seq: number;
  by: number;
}

/** A task that has ended unsent, and the batch and id of the one that goes for it. */
export interface SupersededTask {
  id: string;
  target: string;
  recipientId: number | null;
  error: string;
  batchId: number;
}

/**
 * Ends tasks for which another one, which has just joined a batch, is sent: in the transaction of
 * the claim, which has read their places under the lock of their targets. Throws if one was not in
 * the queue. A task that was tried under a former `distinctBy` of its handler frees its key. The
 * error of a tenant's task names no other task than the tenant's own.
 */
export const endSuperseded = async (db: Queryable, tasks: readonly SupersededRow[]): Promise<SupersededTask[]> => {
  const { rows } = await db.query<SupersededTask>({
    name: 'end-superseded',
    text: `
with named as materialized (
  select *
  from unnest($1::text::tid[], $2::text::bigint[], $3::text::bigint[]) n (at, seq, by_seq)),
gone as (
  delete from queue q using named n
  where q.ctid = n.at and q.seq + 0 = n.seq
  returning q.seq, q.target_id, q.attempts, n.by_seq),
told as materialized (
  select g.*, k.id, k.recipient_id,
    $4 || case when n.name is null or starts_with(b.id, n.name || '/') then b.id else $5 end as error
  from gone g join task k on k.seq = g.seq join task b on b.seq = g.by_seq
    left join tenant n on n.name = split_part(k.id, '/', 1) and k.id <> n.name),
freed as (delete from busy_key b using gone g where b.seq = g.seq),
ended as (
  insert into outcome (seq, target_id, state, attempts, error, at)
  select seq, target_id, 7 /* cancelled */, attempts, error, clock()
  from told)
select k.id, t.key as target, k.recipient_id as "recipientId", k.error, m.batch_id as "batchId"
from told k join member m on m.seq = k.by_seq join target t on t.id = k.target_id
order by k.seq`,
    values: [
      // Array literals, as the claim writes them.
      `{"${tasks.map(({ place }) => place).join('","')}"}`,
      `{${tasks.map(({ seq }) => seq).join()}}`,
      `{${tasks.map(({ by }) => by).join()}}`,
      SUPERSEDED_BY,
      OF_ANOTHER_TENANT,
    ],
  });
  if (rows.length !== tasks.length)
    throw new Error(`claim: expected to end ${tasks.length} superseded tasks, ended ${rows.length}; rolled back`);
  return rows;
};

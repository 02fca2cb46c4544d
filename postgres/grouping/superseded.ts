import { SUPERSEDED_BY } from '../../workflows/planning/grouping/coalescing';
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
 * the queue. A task that was tried under a former `distinctBy` of its handler frees its key.
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
freed as (delete from busy_key b using gone g where b.seq = g.seq),
ended as (
  insert into outcome (seq, target_id, state, attempts, error, at)
  select g.seq, g.target_id, 7 /* cancelled */, g.attempts, $4 || b.id, clock()
  from gone g join task b on b.seq = g.by_seq)
select k.id, t.key as target, k.recipient_id as "recipientId", $4 || b.id as error, m.batch_id as "batchId"
from gone g join task k on k.seq = g.seq join task b on b.seq = g.by_seq join member m on m.seq = g.by_seq
  join target t on t.id = g.target_id
order by g.seq`,
    values: [
      // Array literals, as the claim writes them.
      `{"${tasks.map(({ place }) => place).join('","')}"}`,
      `{${tasks.map(({ seq }) => seq).join()}}`,
      `{${tasks.map(({ by }) => by).join()}}`,
      SUPERSEDED_BY,
    ],
  });
  if (rows.length !== tasks.length)
    throw new Error(`claim: expected to end ${tasks.length} superseded tasks, ended ${rows.length}; rolled back`);
  return rows;
};

import type { Client } from '../pool';

/**
 * Statements that redrive tasks which failed with a dependency, and so were in no batch: they are
 * held again for what has not succeeded. In the order in which they were stored, so that what they
 * depend on comes first.
 */
export interface FailedDependents {
  handlerId: number;
  /** Null: all targets of the handler. */
  target: string | null;
  /** Null: all of them. */
  seqs: readonly number[] | null;
  /** Time as text: one that failed later has been redriven already. */
  before: string;
}

/** Locks them; skips what another redrive is taking. */
export const lockFailedDependents = async (
  client: Client,
  { handlerId, target, seqs, before }: FailedDependents,
  limit: number,
): Promise<number[]> => {
  const { rows } = await client.query<{ seq: number }>({
    name: 'lock-failed-dependents',
    text: `
select o.seq
from target t join outcome o on o.target_id = t.id and o.state = 5 /* failed */
where t.handler_id = $1 and ($2::text is null or t.key = $2) and o.batch_id is null and o.at <= $4::timestamptz
  and ($3::bigint[] is null or o.seq = any($3))
order by o.seq limit $5 for update of o skip locked`,
    values: [handlerId, target, seqs, before, limit],
  });
  return rows.map(({ seq }) => seq);
};

/** Holds them again, for all that has not succeeded. Returns the target of each. */
export const holdAgain = async (client: Client, seqs: readonly number[]): Promise<number[]> => {
  const { rows } = await client.query<{ targetId: number }>({
    name: 'hold-again',
    text: `
with gone as (delete from outcome where seq = any($1::bigint[]) returning seq, target_id),
opened as (
  update task_dependency d set state = null
  from gone g
  where d.seq = g.seq and d.state <> 4 /* succeeded */)
insert into held (seq, target_id)
select seq, target_id
from gone
returning target_id as "targetId"`,
    values: [seqs],
  });
  return rows.map(({ targetId }) => targetId);
};

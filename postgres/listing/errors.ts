import { SAMPLES } from '../../workflows/planning/errors/group';
import type { Queryable } from '../pool';

/**
 * Statements that count errors with the same text. The indexes are by time alone: each looks at so
 * many of the newest rows, and says which of them are of the handler, so that it takes as long at
 * any size of the store.
 */
export interface ErrorScope {
  /** Null: all handlers. */
  handlerId: number | null;
  since: Date;
  /** Most rows. */
  looked: number;
  /** Most characters of a text; null: all, as encoded ones need. */
  characters: number | null;
}

export interface ErrorRow {
  /** Null: it is not of the handler, or of none. */
  handler: string | null;
  /** Whether it is of the handler that is asked for; if not, only `rows` counts. */
  mine: boolean;
  /** State of the tasks, or of the batch. */
  state: number;
  error: string | null;
  rows: number;
  count: number;
  first: Date;
  last: Date;
  /** Newest first. */
  ids: number[];
  batches: number[] | null;
}

/**
 * `looked`: rows with target_id, state, error, n, at, id and batch_id, also such as are no errors
 * since then.
 */
const grouped = (looked: string): string => `
with looked as materialized (${looked}),
named as (
  select l.*, h.name as handler, coalesce(($2::int is null or h.id = $2) and l.at >= $1
    and l.state not in (4 /* succeeded */, 7 /* cancelled */), false) as mine
  from looked l left join target t on t.id = l.target_id left join handler h on h.id = t.handler_id)
select case when n.mine then n.handler end as handler, n.mine, n.state,
  case when n.mine then coalesce(left(n.error, $4::int), n.error) end as error, count(*)::int as rows,
  sum(n.n)::bigint as count, min(n.at) as first, max(n.at) as last,
  (array_agg(n.id order by n.at desc, n.id desc))[1:${SAMPLES}] as ids, (array_agg(distinct n.batch_id
    order by n.batch_id desc) filter (where n.batch_id is not null))[1:${SAMPLES}] as batches
from named n
group by 1, 2, 3, 4`;

const reading =
  (name: string, looked: string) =>
  async (db: Queryable, { handlerId, since, looked: limit, characters }: ErrorScope): Promise<ErrorRow[]> => {
    const { rows } = await db.query<ErrorRow>({
      name,
      text: grouped(looked),
      values: [since, handlerId, limit, characters],
    });
    return rows;
  };

/** Tasks that failed or died by themselves, not with their whole batch. */
export const countEndedAlone = reading(
  'count-errors-of-outcomes',
  `
  select o.target_id, o.state, o.error, 1 as n, o.at, o.seq as id, o.batch_id
  from outcome o
  where o.at >= $1
  order by o.at desc limit $3`,
);

const BATCH = 'b.target_id, b.state, b.error, b.n - b.n_left as n, b.members[1] as id, b.id as batch_id';

/** Batches that failed or died as a whole: `ids` are their first tasks. */
export const countEndedBatches = reading(
  'count-errors-of-ended-batches',
  `
  select ${BATCH}, b.finished_at as at
  from batch b
  where b.state in (5 /* failed */, 6 /* dead */) and b.finished_at >= $1
  order by b.finished_at desc, b.id desc limit $3`,
);

/** Batches that are parked, or are tried again after a failed call. */
export const countTroubled = reading(
  'count-errors-of-troubled-batches',
  `
  select ${BATCH}, coalesce(b.called_at, b.created_at) as at
  from batch b
  where b.state in (1 /* open */, 3 /* unknown */) and b.error is not null
  order by b.id desc limit $3`,
);

/** Tasks that wait for another attempt in the queue. */
export const countRetried = reading(
  'count-errors-of-delayed',
  `
  select d.target_id, 1 /* open */ as state, d.error, 1 as n, d.failed_at as at, d.seq as id, null::bigint as batch_id
  from delayed d
  where d.error is not null and d.failed_at >= $1
  order by d.failed_at desc, d.seq desc limit $3`,
);

/** Callbacks that were tried and not delivered: `ids` are theirs. */
export const countUndelivered = reading(
  'count-errors-of-notifications',
  `
  select coalesce(b.target_id, case when n.batch_id is null and n.fanout_id is null then (
      select t.id
      from handler h join target t on t.handler_id = h.id
      where h.name = n.body->>'handler' and t.key = n.body->>'target') end) as target_id,
    0 /* a callback */ as state, n.error, 1 as n, coalesce(n.done_at, n.created_at) as at, n.id, n.batch_id
  from (
    select *
    from notification n
    where n.error is not null
    order by n.id desc limit $3) n
    left join batch b on b.id = n.batch_id`,
);

/** Returns the ids of tasks. */
export const readIds = async (db: Queryable, seqs: readonly number[]): Promise<Map<number, string>> => {
  const { rows } = await db.query<{ seq: number; id: string }>({
    name: 'read-ids',
    text: 'select seq, id from task where seq = any($1::bigint[])',
    values: [seqs],
  });
  return new Map(rows.map(({ seq, id }) => [seq, id]));
};

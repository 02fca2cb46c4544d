import type { Queryable } from '../pool';
import type { ListScope } from './waiting';

/**
 * Statements that list what has ended, newest first. The indexes are by time alone: a page looks at
 * so many rows, and says which of them are of the handler, so that it takes as long at any size of
 * the store.
 */

/** Before a time in microseconds, and at that time before an id. */
export interface Before {
  us: number;
  id: number;
}

export interface EndedOutcome {
  seq: number;
  batchId: number | null;
  us: number;
  matches: boolean;
}

/**
 * One target is looked up once. Of a handler, its target is looked up per row: joined, all targets
 * there are would be read.
 */
const isOfScope = (row: string): string => `case
    when $4::text is not null then
      ${row}.target_id = (select t.id from target t where t.handler_id = $3::int and t.key = $4)
    when $3::int is not null then (select t.handler_id = $3 from target t where t.id = ${row}.target_id)
    else true end`;

/** The text is part of the error as it is stored: none may be asked for of encoded errors. */
const hasText = (row: string): string => `($8::text is null or position($8 in coalesce(${row}.error, '')) > 0)`;

const microseconds = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::float8 * interval '1 microsecond'`;
const MICROSECONDS = microseconds('$1');
/** The earliest end that is listed. */
const SINCE = microseconds('$7');

/** Of which tasks, in which state, since when in microseconds. */
export type EndedScope = ListScope & { state: number; sinceUs: number; error: string | null };

/** Returns ends of single tasks in this state, and of those in others as not matching. */
export const listOutcomes = async (
  db: Queryable,
  { handlerId, target, state, sinceUs, error }: EndedScope,
  before: Before,
  limit: number,
): Promise<EndedOutcome[]> => {
  const { rows } = await db.query<EndedOutcome>({
    name: 'list-outcomes',
    text: `
select o.seq, o.batch_id as "batchId", (extract(epoch from o.at) * 1000000)::bigint as us,
  o.state = $5::smallint and ${isOfScope('o')} and ${hasText('o')} as matches
from (
  select o.seq, o.batch_id, o.at, o.state, o.target_id, o.error
  from outcome o
  where o.at >= ${SINCE} and o.at <= ${MICROSECONDS} and (o.at, o.seq) < (${MICROSECONDS}, $2::bigint)
  order by o.at desc, o.seq desc limit $6) o
order by o.at desc, o.seq desc`,
    values: [before.us, before.id, handlerId, target, state, limit, sinceUs, error],
  });
  return rows;
};

export interface EndedBatch {
  id: number;
  n: number;
  us: number;
  matches: boolean;
}

const batches = (states: string): string => `
select b.id, b.n, (extract(epoch from b.finished_at) * 1000000)::bigint as us,
  b.state = $5::smallint and ${isOfScope('b')} and ${hasText('b')} as matches
from (
  select b.id, b.n, b.finished_at, b.state, b.target_id, b.error
  from batch b
  where ${states} and b.finished_at >= ${SINCE} and b.finished_at <= ${MICROSECONDS}
    and (b.finished_at, b.id) < (${MICROSECONDS}, $2::bigint)
  order by b.finished_at desc, b.id desc limit $6) b
order by b.finished_at desc, b.id desc`;

const reading =
  (name: string, text: string) =>
  async (
    db: Queryable,
    { handlerId, target, state, sinceUs, error }: EndedScope,
    before: Before,
    limit: number,
  ): Promise<EndedBatch[]> => {
    const values = [before.us, before.id, handlerId, target, state, limit, sinceUs, error];
    const { rows } = await db.query<EndedBatch>({ name, text, values });
    return rows;
  };

/** Failed and dead batches: few among many. */
export const listBadBatches = reading('list-bad-batches', batches('b.state in (5 /* failed */, 6 /* dead */)'));
export const listEndedBatches = reading('list-ended-batches', batches('b.finished_at is not null'));

/**
 * Returns the first members of each of these batches, in their order; of the batch `from` those
 * after a place.
 */
export const listMembers = async (
  db: Queryable,
  batchIds: readonly number[],
  from: { batchId: number; place: number },
  limit: number,
): Promise<{ seq: number; batchId: number; place: number }[]> => {
  const { rows } = await db.query<{ seq: number; batchId: number; place: number }>({
    name: 'list-members',
    text: `
select u.seq, b.id as "batchId", u.place
from batch b cross join lateral (select case when b.id = $2 then $3::bigint else 0 end as place) a
  cross join lateral unnest(b.members) with ordinality u (seq, place)
where b.id = any($1::bigint[]) and u.place > a.place and u.place <= a.place + $4
order by b.id, u.place`,
    values: [batchIds, from.batchId, from.place, limit],
  });
  return rows;
};

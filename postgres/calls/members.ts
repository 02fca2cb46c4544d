import { elementsOf } from '../arrayText';
import type { Queryable } from '../pool';

/** The tasks of batches, as a call needs them. */

export interface MemberTask {
  batchId: number;
  seq: number;
  id: string;
  payload: string;
  attempts: number;
  recipientId: number | null;
  /** Version of the payload; null: the first. */
  version: number | null;
  /** The trace context under which it was submitted; null: its trace is not recorded. */
  trace: string | null;
  /** Only with a trace: when it was accepted, in Unix milliseconds of the database's clock. */
  tracedAtMs: number | null;
}

/**
 * Returns the tasks of some batches, in member order, which is the order the call must have. Which
 * they are and what they hold is read apart: joined row by row and sorted, with their payloads, it
 * would cost the database three times as much. Throws if the row of one is gone: a call without it
 * would end it unsent.
 */
export const readMembers = async (db: Queryable, batchIds: readonly number[]): Promise<Map<number, MemberTask[]>> => {
  const lists = await readLists(db, batchIds);
  const contents = new Map((await readContents(db, batchIds)).map((one) => [one.batchId, one]));
  const members = new Map<number, MemberTask[]>();
  for (const list of lists) {
    const own = contents.get(list.batchId);
    const isLarge = own === undefined || own.seqs === null;
    members.set(list.batchId, membersOf(list, isLarge ? await readLargeContents(db, list.batchId) : split(own)));
  }
  return members;
};

export const readMembersOf = async (db: Queryable, batchId: number): Promise<MemberTask[]> =>
  (await readMembers(db, [batchId])).get(batchId) ?? [];

/** What the tasks of a batch hold, in the order of `seqs`, as Postgres writes an array. */
interface Contents {
  seqs: string;
  ids: readonly string[];
  payloads: readonly string[];
  /** Null: no task has any of it. */
  rest: readonly Rest[] | null;
}
type Rest = readonly [
  recipientId: number | null,
  version: number | null,
  trace: string | null,
  tracedAtMs: number | null,
];
const NO_REST: Rest = [null, null, null, null];

const membersOf = ({ batchId, counted, ...list }: MemberList, contents: Contents): MemberTask[] => {
  const seqs = elementsOf(list.seqs);
  const before = list.attempts === null ? null : elementsOf(list.attempts);
  // Mostly all of them are left, and in the order in which their rows were found.
  const places =
    list.seqs === contents.seqs ? null : new Map(elementsOf(contents.seqs).map((seq, place) => [seq, place]));
  return seqs.map((seq, i) => {
    const place = places === null ? i : places.get(seq);
    if (place === undefined) throw new Error(`batch ${batchId}: expected a row of its task ${seq}, got none`);
    const rest = contents.rest === null ? NO_REST : contents.rest[place]!;
    return {
      batchId,
      seq: Number(seq),
      id: contents.ids[place]!,
      payload: contents.payloads[place]!,
      attempts: before === null ? counted : counted + Number(before[i]),
      recipientId: rest[0],
      version: rest[1],
      trace: rest[2],
      tracedAtMs: rest[3],
    };
  });
};

/** The members that are still in a batch, in their order: a text per column, as rows cost more. */
interface MemberList {
  batchId: number;
  /** Attempts of the batch that count for all of them. */
  counted: number;
  seqs: string;
  /** Attempts of each before it joined; null: none of any. */
  attempts: string | null;
}

/**
 * As long as none has left and none was tried before, their member rows are not read: that
 * condition stands inside, since a join would read them and then leave them out.
 */
const readLists = async (db: Queryable, batchIds: readonly number[]): Promise<MemberList[]> => {
  const { rows } = await db.query<MemberList>({
    name: 'read-members',
    text: `
select b.id as "batchId", b.counted,
  case when b.fresh and b.n_left = 0 then b.members else coalesce(left_in.seqs, '{}') end::text as seqs,
  left_in.attempts::text as attempts
from batch b left join lateral (
  select array_agg(m.seq order by u.place) as seqs, array_agg(m.attempts order by u.place) as attempts
  from unnest(b.members) with ordinality u (seq, place) join member m on m.seq = u.seq and m.batch_id = b.id
  where not (b.fresh and b.n_left = 0)) left_in on true
where b.id = any($1::bigint[])
order by b.id`,
    values: [batchIds],
  });
  return rows;
};

/**
 * Batches whose payloads might have more together are read row by row. Their true sizes count, not
 * `bytes`, which a handler's `bytesOf` says.
 */
const MOST_AS_TEXT_BYTES = 16_000_000;
/** Parts payloads: JSON has no such character unescaped. */
const SEPARATOR = '\u0001';

/** The contents of a batch, one text per column; `seqs` is null for a large batch. */
interface ContentsRow extends Pick<Contents, 'rest'> {
  batchId: number;
  seqs: string | null;
  ids: readonly string[] | null;
  payloads: string | null;
}

const split = ({ seqs, ids, payloads, rest }: ContentsRow): Contents => ({
  seqs: seqs!,
  ids: ids!,
  payloads: payloads!.split(SEPARATOR),
  rest,
});

/**
 * One row per batch: a row per task would cost this process several times as much. No payload that
 * is longer than its share of the most is put into the text (Postgres has lengths at hand), so that
 * the text is bounded whatever the batch.
 */
const readContents = async (db: Queryable, batchIds: readonly number[]): Promise<ContentsRow[]> => {
  const { rows } = await db.query<ContentsRow>({
    name: 'read-member-contents',
    text: `
select b.id as "batchId", c.*
from batch b left join lateral (
  select case when not bool_or(octet_length(k.payload::text) > $2 / b.n) then array_agg(k.seq)::text end as seqs,
    json_agg(k.id) as ids,
    string_agg(k.payload::text, $3) filter (where octet_length(k.payload::text) <= $2 / b.n) as payloads,
    case when bool_or(k.recipient_id is not null or k.version is not null or k.trace is not null)
      then json_agg(json_build_array(k.recipient_id, k.version, k.trace, case when k.trace is not null
        then (extract(epoch from k.created_at) * 1000)::float8 end)) end as rest
  from task k
  where k.seq = any(b.members)) c on true
where b.id = any($1::bigint[])`,
    values: [batchIds, MOST_AS_TEXT_BYTES, SEPARATOR],
  });
  return rows;
};

const readLargeContents = async (db: Queryable, batchId: number): Promise<Contents> => {
  const { rows } = await db.query<{ seq: number; id: string; payload: string; rest: Rest }>({
    name: 'read-large-contents',
    text: `
select k.seq, k.id, k.payload::text as payload,
  json_build_array(k.recipient_id, k.version, k.trace, case when k.trace is not null
    then (extract(epoch from k.created_at) * 1000)::float8 end) as rest
from task k
where k.seq = any((
  select b.members
  from batch b
  where b.id = $1)::bigint[])`,
    values: [batchId],
  });
  return {
    seqs: `{${rows.map(({ seq }) => seq).join()}}`,
    ids: rows.map(({ id }) => id),
    payloads: rows.map(({ payload }) => payload),
    rest: rows.map(({ rest }) => rest),
  };
};

/**
 * Returns the members of batches, in their order, without their payloads: all that settling and
 * `beforeCall` need, so that a large batch settles in bounded memory.
 */
export const readMemberIds = async (db: Queryable, batchIds: readonly number[]): Promise<MemberTask[]> => {
  const { rows } = await db.query<MemberTask>({
    name: 'read-member-ids',
    text: `
select b.id as "batchId", k.seq, k.id, 'null' as payload, m.attempts + b.counted as attempts,
  k.recipient_id as "recipientId", null::integer as version, k.trace,
  case when k.trace is not null then (extract(epoch from k.created_at) * 1000)::float8 end as "tracedAtMs"
from batch b cross join lateral unnest(b.members) with ordinality u (seq, place) join member m on m.seq = u.seq
  and m.batch_id = b.id join task k on k.seq = u.seq
where b.id = any($1::bigint[])
order by b.id, u.place`,
    values: [batchIds],
  });
  return rows;
};

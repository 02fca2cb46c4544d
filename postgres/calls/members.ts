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
export const readMembers = async (db: Queryable, batchIds: readonly number[]): Promise<MemberTask[]> => {
  const lists = await readLists(db, batchIds);
  const contents = new Map<number, MemberTask>();
  for (const content of await readContents(db, batchIds)) contents.set(content.seq, content);
  const members: MemberTask[] = [];
  for (const { batchId, counted, seqs, attempts } of lists) {
    const before = attempts === null ? null : elementsOf(attempts);
    elementsOf(seqs).forEach((seq, i) => {
      const member = contents.get(Number(seq));
      if (member === undefined) throw new Error(`batch ${batchId}: expected a row of its task ${seq}, got none`);
      // A task is in one batch: its row becomes its member, as copies of thousands cost more.
      member.batchId = batchId;
      member.attempts = counted + (before === null ? 0 : Number(before[i]));
      members.push(member);
    });
  }
  return members;
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

/** Their batch and attempts are not read here: `readMembers` adds them to each row. */
const readContents = async (db: Queryable, batchIds: readonly number[]): Promise<MemberTask[]> => {
  const { rows } = await db.query<Omit<MemberTask, 'batchId' | 'attempts'>>({
    name: 'read-member-contents',
    text: `
select k.seq, k.id, k.payload::text as payload, k.recipient_id as "recipientId", k.version, k.trace,
  case when k.trace is not null then (extract(epoch from k.created_at) * 1000)::float8 end as "tracedAtMs"
from task k
where k.seq = any(array(
  select u.seq
  from batch b cross join lateral unnest(b.members) u (seq)
  where b.id = any($1::bigint[])))`,
    values: [batchIds],
  });
  return rows as MemberTask[];
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

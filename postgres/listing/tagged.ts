import type { Queryable } from '../pool';
import type { ListScope } from './waiting';

/** Statements that list tasks by tag, in the order in which they were accepted. */

/** A task that has the tag; `matches`: it is of the target that is asked for. */
export interface Tagged {
  seq: number;
  /** The batch that it is in, or ended in; null: none. */
  batchId: number | null;
  state: number;
  /** It ended by itself, not with its whole batch. */
  isOwnEnd: boolean;
  matches: boolean;
}

/**
 * Part of statements: reads no more of the index than the page, per handler, and looks up these
 * tasks one by one (`limit 1`), not joined by a plan for tables that were empty.
 */
const listing = (page: string): string => `
select g.seq, s.batch_id as "batchId", s.state, exists (select from outcome o where o.seq = g.seq) as "isOwnEnd",
  s.matches
from (${page}) g cross join lateral (
  select s.batch_id, s.state, $3::text is null or t.key = $3 as matches
  from task_state s join target t on t.id = s.target_id
  where s.seq = g.seq limit 1) s
order by g.seq`;

const OF_HANDLER = `
  select g.seq
  from task_tag g
  where g.tag = $1 and g.handler_id = $2`;

type Read = (db: Queryable, tag: string, scope: ListScope, place: number, limit: number) => Promise<Tagged[]>;

const reading =
  (name: string, text: string): Read =>
  async (db, tag, { handlerId, target }, place, limit) => {
    const { rows } = await db.query<Tagged>({ name, text, values: [tag, handlerId, target, place, limit] });
    return rows;
  };

/** Lists tasks of a handler before a seq, newest first. */
export const listTagged = reading(
  'list-tagged',
  `${listing(`${OF_HANDLER} and g.seq < $4::bigint
  order by g.seq desc limit $5`)} desc`,
);

/** Lists tasks of a handler after a seq, oldest first: what a task depends on comes before it. */
export const listTaggedAfter = reading(
  'list-tagged-after',
  listing(`${OF_HANDLER} and g.seq > $4::bigint
  order by g.seq limit $5`),
);

/** Lists tasks of all handlers before a seq, newest first: the newest of a page of each. */
export const listTaggedOfAll = reading(
  'list-tagged-of-all',
  `${listing(`
  select g.seq
  from handler h cross join lateral (
    select g.seq
    from task_tag g
    where g.tag = $1 and g.handler_id = h.id and g.seq < $4::bigint
    order by g.seq desc limit $5) g
  where $2::int is null
  order by g.seq desc limit $5`)} desc`,
);

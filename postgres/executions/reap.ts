import type { Pool, Queryable } from '../pool';

/**
 * Deletes executions whose retention has passed: first they become invisible, then their rows are
 * deleted in bounded statements that each commit.
 */

/**
 * Makes executions that ended `endedMs` ago invisible, the oldest first, at most `limit`. Never an
 * open one.
 */
export const discardExecutions = async (db: Queryable, endedMs: number, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'discard-executions',
    text: `
with over as materialized (
  select id
  from execution
  where state in (100 /* done */, -3 /* cancelled */) and finished_at <= clock() - $1::float8 * interval '1 ms'
  order by finished_at limit $2 for no key update skip locked)
update execution e set state = -4 /* deleted */
from over o
where e.id = o.id and e.state in (100 /* done */, -3 /* cancelled */)`,
    values: [endedMs, limit],
  });
  return rowCount ?? 0;
};

/** Deletes some work items of discarded executions. */
export const deleteDiscardedItems = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-discarded-items',
    text: `
with over as materialized (
  select id
  from execution
  where state = -4 /* deleted */
  order by finished_at limit 100 for update skip locked),
part as materialized (
  select w.at
  from over o cross join lateral (
    select ctid as at
    from work_item
    where execution_id = o.id
    order by position limit $1) w limit $1)
delete from work_item w using part p
where w.ctid = p.at`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/** Deletes some chunks of discarded executions that have no items left. */
const deleteDiscardedChunks = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-discarded-chunks',
    text: `
with over as materialized (
  select e.id
  from execution e
  where e.state = -4 /* deleted */ and not exists (select from work_item w where w.execution_id = e.id)
  order by e.finished_at limit 100 for update skip locked),
part as materialized (
  select c.at
  from over o cross join lateral (
    select ctid as at
    from chunk
    where execution_id = o.id
    order by round, place limit $1) c limit $1)
delete from chunk c using part p
where c.ctid = p.at`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/** Deletes discarded executions without items and chunks; their ids are free again. */
const deleteExecutions = async (db: Queryable, limit: number): Promise<number> => {
  const { rowCount } = await db.query({
    name: 'delete-executions',
    text: `
with gone as materialized (
  select e.id
  from execution e
  where e.state = -4 /* deleted */ and not exists (select from work_item w where w.execution_id = e.id)
    and not exists (select from chunk c where c.execution_id = e.id)
  order by e.finished_at limit $1 for update skip locked)
delete from execution e using gone g
where e.id = g.id`,
    values: [limit],
  });
  return rowCount ?? 0;
};

/** Rows per statement: an item may carry outputs of some 100 KB. */
const EXECUTIONS = 500;
const ROWS = 2_000;

/** Runs one bounded step; `more`: another step would find something. */
export const reapExecutions = async (pool: Pool, endedMs: number) => {
  const discarded = await discardExecutions(pool, endedMs, EXECUTIONS);
  const deletedItems = await deleteDiscardedItems(pool, ROWS);
  const deletedChunks = await deleteDiscardedChunks(pool, ROWS);
  const deletedExecutions = await deleteExecutions(pool, EXECUTIONS);
  const more = deletedItems > 0 || deletedChunks > 0 || discarded === EXECUTIONS || deletedExecutions === EXECUTIONS;
  return { discarded, deletedItems, deletedChunks, deletedExecutions, more };
};

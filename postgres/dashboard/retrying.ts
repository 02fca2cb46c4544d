import type { Queryable } from '../pool';

export interface RetryingRow {
  handler: string;
  tasks: number;
  /** Why the newest of them was not done. */
  error: string;
}

/** Most batches, and most single tasks, that are looked at, the newest first. */
const LOOKED_AT = 1_000;

/**
 * Returns per handler what waits for another attempt after a failed call: batches that are sent
 * again as they are, and tasks that went back to the queue.
 */
export const readRetrying = async (db: Queryable): Promise<RetryingRow[]> => {
  const { rows } = await db.query<RetryingRow>({
    name: 'read-retrying',
    text: `
with batches as (
  select target_id, n - n_left as n, error, id
  from batch
  where state = 1 /* open */ and error is not null
  order by id desc limit ${LOOKED_AT}),
tasks as (
  select target_id, error, failed_at
  from delayed
  where error is not null
  order by failed_at desc limit ${LOOKED_AT}),
of_batches as (
  select t.handler_id, sum(b.n) as n, (array_agg(b.error order by b.id desc))[1] as error
  from batches b join target t on t.id = b.target_id
  group by 1),
of_tasks as (
  select t.handler_id, count(*) as n, (array_agg(d.error order by d.failed_at desc))[1] as error
  from tasks d join target t on t.id = d.target_id
  group by 1)
select h.name as handler, (coalesce(b.n, 0) + coalesce(d.n, 0))::float8 as tasks, coalesce(b.error, d.error) as error
from of_batches b full join of_tasks d using (handler_id) join handler h on h.id = handler_id`,
  });
  return rows;
};

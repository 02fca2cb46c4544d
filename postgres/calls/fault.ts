import type { Queryable } from '../pool';

/** Most stacks kept per handler, and for how long; a batch beyond that has none. */
const PER_HANDLER = 200;

/**
 * Notes where the last call of a batch threw. One row per handler and distinct stack, so that an
 * unreachable downstream costs one number per batch, not a stack. Call it after the statement that
 * wrote the batch's error.
 */
export const noteFault = async (db: Queryable, batchId: number, attempt: number, stack: string): Promise<void> => {
  await db.query({
    name: 'note-fault',
    text: `
with of_handler as (
  select t.handler_id as id
  from batch b join target t on t.id = b.target_id
  where b.id = $1),
known as (
  select f.id
  from fault f join of_handler h on f.handler_id = h.id
  where md5(f.stack) = md5($3)),
made as (
  insert into fault (handler_id, stack, at)
  select h.id, $3, clock()
  from of_handler h
  where not exists (select from known) and (select count(*) from fault f where f.handler_id = h.id) < ${PER_HANDLER}
  on conflict (handler_id, md5(stack)) do update set at = excluded.at
  returning id),
old as (
  delete from fault f using of_handler h
  where f.handler_id = h.id and not exists (select from known) and f.at < clock() - interval '30 days')
update batch set fault_id = coalesce((select id from known), (select id from made)), fault_attempt = $2::int
where id = $1 and attempt = $2`,
    values: [batchId, attempt, stack],
  });
};

/** The stack of the call that batch `b`'s error comes from, for statements that show the error. */
export const STACK_OF_BATCH = `case when b.error is not null and (b.fault_attempt = b.attempt
  or b.fault_attempt = b.attempt - 1 and b.attempt_until is not null)
  then (select f.stack from fault f where f.id = b.fault_id) end`;

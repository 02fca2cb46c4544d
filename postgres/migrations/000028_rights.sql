-- Up Migration

-- The one clock: stable, so that an index condition may use it. No setting moves it: any role may make one, and so delete
-- entries of the audit before their year is over. A test that moves it replaces it, as only its owner can.
create or replace function clock() returns timestamptz language sql stable as $$ select statement_timestamp() $$;

-- Takes the mark of the unused from those targets of a handler that have these keys, and returns them: they are looked
-- up. With the rights of its owner, since who submits may write no mark: a mark of long ago has a target deleted.
create function unmark_targets(of_handler int, keys text[]) returns table (id int, key text, leader_id int)
language plpgsql security definer as $$
#variable_conflict use_column
begin
  return query
  with marked as materialized (
    select t.id
    from target t
    where t.handler_id = of_handler and t.key = any(keys) and t.unused_at is not null
    order by t.id for no key update)
  update target t set unused_at = null
  from marked m
  where t.id = m.id
  returning t.id, t.key, t.leader_id;
end $$;

-- Returns the tasks that have these ids, and keeps them from being deleted until the caller's end. With the rights of its
-- owner, since who may lock a row may also write it.
create function lock_tasks(ids text[]) returns table (id text, seq bigint) language plpgsql security definer as $$
#variable_conflict use_column
begin
  return query
  select k.id, k.seq
  from task k
  where k.id = any(ids)
  order by k.id for key share;
end $$;

-- Their own tables only, whatever the caller's path or temporary tables are; plans as the store's sessions have them.
do $$ begin
  execute format('alter function unmark_targets set search_path = %I, pg_temp', current_schema());
  execute 'alter function unmark_targets set enable_seqscan = off';
  execute format('alter function lock_tasks set search_path = %I, pg_temp', current_schema());
  execute 'alter function lock_tasks set enable_seqscan = off';
end $$;

-- Down Migration

drop function lock_tasks;
drop function unmark_targets;
-- The one clock: stable, so that an index condition may use it. Only tests set muster.clock.
create or replace function clock() returns timestamptz language sql stable as
  $$ select statement_timestamp() + coalesce(nullif(current_setting('muster.clock', true), ''), '0')::interval $$;

-- Up Migration

-- When the sweeper found that nothing refers to it; null: it is in use, as far as is known. What is unused for a day is
-- deleted (docs/internals/decisions/0026-unused-targets.md).
alter table target add column unused_at timestamptz;
alter table lane add column unused_at timestamptz;
-- Finds the targets that feed a lane; large installations create it `concurrently` beforehand.
create index if not exists target_lane_id on target (lane_id) where lane_id is not null;
-- Finds the lanes of a handler, for lists of its waiting tasks; likewise.
create index if not exists lane_handler_id on lane (handler_id, id);

-- The time by which ids of targets and marks are told, and which no test moves: `clock` costs more than the rest of `check_targets`.
create function server_time() returns timestamptz language sql as $$ select clock_timestamp() $$;

-- How long ids of targets serve after their look-up: half of the time for which the sweeper keeps a marked target.
create function targets_serve() returns interval language sql immutable as $$ select interval '12 hours' $$;

create function refuse_targets(looked_up_at timestamptz) returns boolean language plpgsql as $$
begin
  raise exception using errcode = 'MU002', message = format(
      'Cannot store tasks: expected targets that were looked up within %s hours, got a look at %s. Submit again.',
      extract(hour from targets_serve()), coalesce(looked_up_at::text, 'no time')),
    hint = 'Nothing was stored. A transaction that has been open for as long must end first.';
end $$;

-- Refuses ids of targets that were looked up too long ago: every statement that stores tasks calls it with the time of the oldest
-- look. The sweeper deletes a target long after that time has passed for all that saw it without a mark. The number
-- of the transaction is drawn first: the sweeper waits for all that have one from before. One expression, which the
-- planner puts in the place of the call.
create function check_targets(looked_up_at timestamptz) returns boolean language sql as $$
  select case when pg_current_xact_id() is not null
    and looked_up_at >= server_time() - targets_serve() then true
  else refuse_targets(looked_up_at) end
$$;

-- Returns the target, which is registered with its leader if it is new: both exist if and only if the caller commits.
create or replace function target_of(h handler, of_key text) returns int language plpgsql as $$
declare
  leads constant text := case when h.leaders = 0 then of_key else leader_index(of_key, h.leaders)::text end;
  -- Before what the statements below see: each takes a look of its own, or all take that of the transaction.
  looked_up_at constant timestamptz := server_time() - case
    when current_setting('transaction_isolation') in ('repeatable read', 'serializable')
      then clock_timestamp() - transaction_timestamp()
    else interval '0' end;
  found_id int;
  marked boolean;
begin
  loop
    select id, unused_at is not null into found_id, marked from target where handler_id = h.id and key = of_key;
    if found and marked then
      -- Keeps it until the task is there to be seen, and nobody waits for it: the sweeper passes over locked rows, and takes the mark
      -- away in a later pass.
      perform from target where id = found_id for key share;
      continue when not found; -- deleted
    end if;
    exit when found_id is not null;
    insert into leader (handler_id, name) values (h.id, leads) on conflict do nothing;
    insert into target (handler_id, key, leader_id)
    select h.id, of_key, id
    from leader
    where handler_id = h.id and name = leads
    on conflict do nothing;
  end loop;
  perform check_targets(looked_up_at);
  return found_id;
end $$;

-- Down Migration

-- Returns the target, which is registered with its leader if it is new: both exist if and only if the caller commits.
create or replace function target_of(h handler, of_key text) returns int language plpgsql as $$
declare
  leads constant text := case when h.leaders = 0 then of_key else leader_index(of_key, h.leaders)::text end;
  found_id int;
begin
  select id into found_id from target where handler_id = h.id and key = of_key;
  if found then
    return found_id;
  end if;
  insert into leader (handler_id, name) values (h.id, leads) on conflict do nothing;
  insert into target (handler_id, key, leader_id)
  select h.id, of_key, id
  from leader
  where handler_id = h.id and name = leads
  on conflict do nothing;
  select id into found_id from target where handler_id = h.id and key = of_key;
  return found_id;
end $$;
drop function check_targets;
drop function refuse_targets;
drop function targets_serve;
drop function server_time;
drop index lane_handler_id;
drop index target_lane_id;
alter table lane drop column unused_at;
alter table target drop column unused_at;

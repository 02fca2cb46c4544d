-- Up Migration

-- Tasks that wait for other tasks. A task with dependencies is `held` until they have ended as it demands, then queued.
-- What ends a task (a batch, an outcome) notes it in `ended_dependency` where another task waits for it, in the same
-- transaction, whatever program does it; dependents are released or failed from there, a bounded number at a time.
-- A version that does not know this runs on, and leaves held tasks alone.

create table task_dependency (
  seq bigint not null,
  needs bigint not null,
  place smallint not null,                           -- in the order in which they were given
  run boolean not null,                              -- runs also where it did not succeed
  state smallint check (state between 4 /* succeeded */ and 7 /* cancelled */),  -- how it ended; null: not yet
  needs_id text not null,                            -- it may be deleted earlier
  primary key (seq, needs),
  check (needs < seq)                                -- so no cycle can be stored
);
comment on column task_dependency.state is '4 succeeded, 5 failed, 6 dead, 7 cancelled';
create index task_dependency_open on task_dependency (needs) where state is null;

create table held (
  seq bigint primary key,
  target_id int not null,
  not_before timestamptz
);
create index held_target on held (target_id);

-- Without a key of the task: one that is being worked off must not swallow a later one.
create table ended_dependency (
  id bigint generated always as identity primary key,
  seq bigint not null,
  state smallint not null check (state between 4 /* succeeded */ and 7 /* cancelled */)
);
comment on column ended_dependency.state is '4 succeeded, 5 failed, 6 dead, 7 cancelled';

alter table batch
  add column awaited boolean not null default false;  -- it has ended, and tasks waited for members

-- The row is locked by then, and each statement here has a new snapshot: what a submit has committed before is seen,
-- and a submit that locks the row later finds it ended.
create function note_batch_end() returns trigger language plpgsql as $$
begin
  if exists (select from task_dependency where state is null) then
    insert into ended_dependency (seq, state)
    select m.seq, new.state
    from unnest(new.members) u (seq) join member m on m.seq = u.seq and m.batch_id = new.id
    where exists (select from task_dependency d where d.needs = u.seq and d.state is null);
    new.awaited := found;
  end if;
  return new;
end $$;

create trigger note_batch_end before update of state on batch for each row
  when (new.state in (4 /* succeeded */, 5 /* failed */, 6 /* dead */) and old.state <> new.state)
  execute function note_batch_end();

create function note_outcomes() returns trigger language plpgsql as $$
begin
  if exists (select from task_dependency where state is null) then
    insert into ended_dependency (seq, state)
    select n.seq, n.state
    from new_outcomes n
    where exists (select from task_dependency d where d.needs = n.seq and d.state is null);
  end if;
  return null;
end $$;

create trigger note_outcomes after insert on outcome
  referencing new table as new_outcomes
  for each statement
  execute function note_outcomes();

create or replace view state_count as
select target_id, 0::smallint /* created */ as state, count(*) as n
from queue
group by 1
union all select target_id, 0::smallint /* created */, count(*)
from delayed
group by 1
union all select target_id, 0::smallint /* created */, count(*)
from lane_queue
group by 1
union all select b.target_id,
  case when b.state = 1 /* open */
    and b.leader_id = 0 then lane_task_state((select s.status from lane_batch s where s.batch_id = b.id))
    when b.state = 1 /* open */ and b.attempt > 0 then 2::smallint /* in-progress */ else b.state end,
  sum(b.n - b.n_left)
from batch b
where b.state <> 7 /* dissolved */
group by 1, 2
union all select target_id, state, count(*)
from outcome
group by 1, 2
union all select target_id, 0::smallint /* created */, count(*)
from held
group by 1;

-- Down Migration

select refuse('Cannot undo 000006: tasks wait for others. Wait until they have ended, or cancel them.')
where exists (select from held);

create or replace view state_count as
select target_id, 0::smallint /* created */ as state, count(*) as n
from queue
group by 1
union all select target_id, 0::smallint /* created */, count(*)
from delayed
group by 1
union all select target_id, 0::smallint /* created */, count(*)
from lane_queue
group by 1
union all select b.target_id,
  case when b.state = 1 /* open */
    and b.leader_id = 0 then lane_task_state((select s.status from lane_batch s where s.batch_id = b.id))
    when b.state = 1 /* open */ and b.attempt > 0 then 2::smallint /* in-progress */ else b.state end,
  sum(b.n - b.n_left)
from batch b
where b.state <> 7 /* dissolved */
group by 1, 2
union all select target_id, state, count(*)
from outcome
group by 1, 2;
drop trigger note_outcomes on outcome;
drop trigger note_batch_end on batch;
drop function note_outcomes();
drop function note_batch_end();
alter table batch
  drop column awaited;
drop table ended_dependency;
drop table held;
drop table task_dependency;

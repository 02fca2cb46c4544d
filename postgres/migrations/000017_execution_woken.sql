-- Up Migration
-- Since when a wake of an execution has gone unanswered. The sweeper sets it when it wakes the execution, and a turn clears it: unlike
-- `resume_at` it is not put off by the next wake. Means something while the execution is open (state 0 or 1).

alter table execution add column woken_at timestamptz;
create index if not exists execution_woken on execution (woken_at) where woken_at is not null;

-- Down Migration
drop index if exists execution_woken;
alter table execution drop column woken_at;

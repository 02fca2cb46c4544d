-- Up Migration

-- Finds the delayed tasks that have just become due, however many wait for later. By the time in
-- UTC, which only this look compares: an index by `not_before` itself, which no target leads, looks
-- to the planner like a way to the lists of one handler's delayed tasks, and reads all handlers'.
create index if not exists delayed_due on delayed ((not_before at time zone 'UTC'), seq);

-- Down Migration

drop index delayed_due;

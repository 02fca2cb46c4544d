-- Up Migration

-- Finds the delayed tasks that have just become due, however many wait for later. Both columns are
-- expressions which only this look compares. An index on `not_before` itself looked to the planner
-- like a way to the lists of one handler's delayed tasks, and read all handlers'; one with `seq`
-- itself was read whole for single tasks where few are delayed.
create index if not exists delayed_due on delayed ((not_before at time zone 'UTC'), (-seq));

-- Down Migration

drop index delayed_due;

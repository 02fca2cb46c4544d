-- Up Migration

-- Finds the delayed tasks that have just become due, however many wait for later.
create index if not exists delayed_due on delayed (not_before, seq);

-- Down Migration

drop index delayed_due;

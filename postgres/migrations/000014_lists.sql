-- Up Migration

-- Why a task waits for another attempt, and since when: lists of errors say so.
alter table delayed add column error text, add column failed_at timestamptz;
create index delayed_failed on delayed (failed_at, seq) where error is not null;

-- Batches that wait after a failed call, or are parked: few among those that are open.
create index batch_troubled on batch (id) where state in (1 /* open */, 3 /* unknown */) and error is not null;

-- Callbacks that were tried and not delivered.
create index notification_undelivered on notification (id) where error is not null;

-- Down Migration

drop index notification_undelivered;
drop index batch_troubled;
drop index delayed_failed;
alter table delayed drop column error, drop column failed_at;

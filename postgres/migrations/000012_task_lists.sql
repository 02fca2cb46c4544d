-- Up Migration

-- Lists of failed and dead tasks, newest first: such batches are few among those that succeeded.
create index batch_bad_at on batch (finished_at, id) where state in (5 /* failed */, 6 /* dead */);

-- Down Migration

drop index batch_bad_at;

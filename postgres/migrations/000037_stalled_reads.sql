-- Up Migration

-- Finds the reads that have stalled, however many batches the downstreams have: only batches whose results are read have read_at.
create index if not exists batch_read on batch (read_at) where read_at is not null and reference is not null and state = 1 /* open */;

-- Down Migration

drop index batch_read;

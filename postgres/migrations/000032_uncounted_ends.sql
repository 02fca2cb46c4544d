-- Up Migration

-- Ends that no worker's call made (a completion, resolve, cancel, a bulk action, expiry), until the sweeper adds them to
-- `outcome_minute`. Written by the transactions that make them: rows that are only inserted wait for none. No reference,
-- which would lock the handler's row, and no index, since all of it is read at each sweep. Its end is not cut off, which
-- would lock out those that insert.
create table uncounted_end (
  handler_id integer not null,
  minute timestamptz not null,
  ends bigint[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_truncate = off);

-- Down Migration

drop table uncounted_end;

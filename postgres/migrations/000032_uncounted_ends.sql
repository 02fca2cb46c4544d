-- Up Migration

-- Ends that no worker's call made (a completion, resolve, cancel, a bulk action, expiry), until the sweeper adds them to
-- `outcome_minute`. Written by the transactions that make them: rows that are only inserted wait for none. No reference,
-- which would lock the handler's row, and no index, since all of it is read every two seconds.
create table uncounted_end (
  handler_id integer not null,
  minute timestamptz not null,
  ends bigint[] not null
);

-- Down Migration

drop table uncounted_end;

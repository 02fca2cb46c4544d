-- Up Migration

-- How far the work of a partition has come, as its holder says it: for the next one. Null: nothing was said.

alter table partition
  add column checkpoint json,
  add column checkpoint_at timestamptz,
  add column checkpoint_epoch bigint;

-- Down Migration

alter table partition
  drop column checkpoint,
  drop column checkpoint_at,
  drop column checkpoint_epoch;

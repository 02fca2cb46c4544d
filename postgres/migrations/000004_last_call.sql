-- Up Migration

-- When the last call of a batch began; `started_at` is the first. Null: marked by a version that does not write it.

alter table batch
  add column called_at timestamptz;

-- Down Migration

alter table batch
  drop column called_at;

-- Up Migration

-- What the last run of an item used, and what its executor or function says about it. Null: run by a version that does not write it.

alter table work_item
  add column usage json,
  add column metadata json;

-- Down Migration

alter table work_item
  drop column usage,
  drop column metadata;

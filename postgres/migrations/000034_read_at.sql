-- Up Migration

-- When the last of its results came, or their read began, while the results of an accepted batch are read; the read goes on
-- as long as poll_at lies ahead. Null: they are not read, or by a version that does not write it.
alter table batch add column read_at timestamptz;

-- Down Migration

alter table batch drop column read_at;

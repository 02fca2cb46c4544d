-- Up Migration

-- When the last of its results came, or their read began, while the results of an accepted batch are read; the read goes on
-- as long as poll_at lies ahead by less than a lease. Null: they are not read. A version before this one leaves it as it is.
alter table batch add column read_at timestamptz;

-- Down Migration

alter table batch drop column read_at;

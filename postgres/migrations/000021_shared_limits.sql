-- Up Migration

-- What was set in place of the definition of a limit that handlers share, by whom, when and until when.
alter table shared_limit
  add column limits jsonb,
  add column limits_until timestamptz;
create index if not exists shared_limit_until on shared_limit (limits_until) where limits_until is not null;

-- Down Migration

alter table shared_limit drop column limits, drop column limits_until;

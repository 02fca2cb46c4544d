-- Up Migration

-- Limits that change at run time. What counts stands where it stood (per_target, rates, ...): `defined` is what the
-- handler's definition says, `limits` what was set in its place, by whom, when and until when.
alter table handler
  add column defined jsonb,
  add column limits jsonb,
  add column limits_until timestamptz,
  add column rate_changes integer not null default 0;
create index if not exists handler_limits on handler (limits_until) where limits_until is not null;

-- Null: the handler's limit counts.
alter table target
  add column per_target integer check (per_target > 0),
  add column weight_per_target double precision check (weight_per_target > 0),
  add column rates jsonb,
  add column limits jsonb,
  add column limits_until timestamptz;
create index if not exists target_limits on target (handler_id, id) where limits is not null;
create index if not exists target_limits_until on target (limits_until) where limits_until is not null;

-- How often the handler's rates had changed when the dispatch's calls were planned: after another change it hands back
-- what it has not started.
alter table dispatch add column rate_changes integer not null default 0;

-- Limits that several handlers share: the budget of one key. `share_ms` is when a handler has had its share, `share_until` until when it wants more than it got.
create table shared_limit (
  id integer generated always as identity primary key,
  name text not null unique check (octet_length(name) between 1 and 64),
  concurrency integer check (concurrency > 0),
  rates jsonb not null default '[]',
  paces double precision[] not null default '{}',
  defined jsonb not null
) with (fillfactor = 50);
alter table handler
  add column shares integer references shared_limit (id),
  add column share_ms double precision,
  add column share_until timestamptz;

-- Down Migration

alter table dispatch drop column rate_changes;
alter table target
  drop column per_target, drop column weight_per_target, drop column rates, drop column limits, drop column limits_until;
alter table handler drop column shares, drop column share_ms, drop column share_until;
drop table shared_limit;
alter table handler drop column defined, drop column limits, drop column limits_until, drop column rate_changes;

-- Up Migration

-- Callers of the HTTP API in tenants. The ids of a tenant's tasks, and its lanes, begin with its name and a slash;
-- its executions and fan-outs are marked. Null: no limit.

create table tenant (
  name text primary key,
  max_queued bigint,
  max_bytes bigint,
  max_targets integer,
  max_executions integer,
  max_items bigint,
  created_at timestamptz not null,
  constraint tenant_name_check check (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'),
  constraint tenant_limits_check check (least(max_queued, max_bytes, max_targets, max_executions, max_items) >= 0)
);

-- There are more scopes now; the program knows them.
alter table api_token drop constraint api_token_scopes_check;
alter table api_token add column tenant text;
-- Names, or beginnings of names with a * at their end.
alter table api_token add column handlers text[];
alter table api_token add column expires_at timestamptz;
-- Accurate to a minute.
alter table api_token add column used_at timestamptz;
-- The first token of those that were made in its place, one after the other.
alter table api_token add column replaces integer;

alter table execution add column tenant text;
create index if not exists execution_tenant on execution (tenant, created_at, id) where tenant is not null;
alter table fanout add column tenant text;
create index if not exists fanout_tenant on fanout (tenant) where tenant is not null;

-- Down Migration

drop index fanout_tenant;
alter table fanout drop column tenant;
drop index execution_tenant;
alter table execution drop column tenant;
alter table api_token drop column replaces;
alter table api_token drop column used_at;
alter table api_token drop column expires_at;
alter table api_token drop column handlers;
alter table api_token drop column tenant;
delete from api_token where not scopes <@ array['submit', 'read', 'admin'];
alter table api_token add constraint api_token_scopes_check
  check (cardinality(scopes) > 0 and scopes <@ array['submit', 'read', 'admin']);
drop table tenant;

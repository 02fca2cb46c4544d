-- Up Migration

-- Dependencies between batches that a downstream knows: a handler may hand them over, so that a batch is sent as soon as
-- the downstream has what it depends on. `handed`: the downstream was given this one with the batch.

alter table handler add column hands_dependencies bool not null default false;
alter table dependency add column handed bool not null default false;

-- Down Migration

alter table dependency drop column handed;
alter table handler drop column hands_dependencies;

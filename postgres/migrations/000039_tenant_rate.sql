-- Up Migration

-- Tasks and items that a tenant may have accepted per second by each process of the API. Null: no limit.
alter table tenant add column max_per_second integer;
alter table tenant add constraint tenant_max_per_second_check check (max_per_second >= 0);

-- Down Migration

alter table tenant drop column max_per_second;

-- Up Migration

-- Which version of its handler's payloads a task was accepted as. Null: the first, which takes no room in a row.
alter table task add column version integer;

-- Down Migration

alter table task drop column version;

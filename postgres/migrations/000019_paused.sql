-- Up Migration

-- Finds the paused targets of a handler, which an operator may have forgotten. On a large store create it
-- `concurrently` before, by the same name.
create index if not exists target_paused on target (handler_id) where paused;

-- Down Migration

drop index target_paused;

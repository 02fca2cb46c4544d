-- Up Migration

-- Items that take their node down with them. `reached`: how far a chunk may have come, written before its items begin;
-- of items that were lost before, which come last and alone, 2^31 and the position. Null: nothing has begun, or the
-- node runs a version that does not write it. `losses`: how often in a row an item may have run when its chunk was lost.

alter table chunk add column reached bigint;
alter table work_item add column losses smallint not null default 0;

-- Down Migration

alter table work_item drop column losses;
alter table chunk drop column reached;

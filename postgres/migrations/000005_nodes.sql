-- Up Migration
-- Nodes: the partitions of handlers with affinity, a lease each (docs/systems/nodes.md).
-- A partition is the leader of that number and its targets, or the lanes whose service falls into it; its lease says which node serves it.

alter table handler add column partitions int not null default 0 check (partitions between 0 and 1024),   -- 0: no affinity, any node serves it
  add column needs jsonb not null default '{}';        -- attributes that a node must have to serve it

alter table lease alter column holder drop not null;   -- null: given up, or never held; the epoch goes on from here
alter table lease add column kept_for text, add column kept_until timestamptz,   -- given up by a node of this name that restarts
  add check ((kept_for is null) = (kept_until is null)), add check (kept_for is null or holder is null);

create table partition (
  resource text primary key references lease,          -- 'partition/<handler>/<no>'
  handler_id int not null references handler, no int not null check (no between 0 and 1023),
  pinned_to text, pinned_at timestamptz,               -- an admin's move: this node, or any of this name, while one lives
  unique (handler_id, no), check ((pinned_to is null) = (pinned_at is null)));

alter table lane add column partition text references partition;
create index lane_partition on lane (partition) where partition is not null;

alter table node add column name text,                 -- the same after a restart; null: none was given
  add column drained bool not null default false;      -- by an admin: it is to have no partitions, and answers no roll call

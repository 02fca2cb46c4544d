-- Up Migration
-- An admin's drain outlives the node's row, which goes at a clean stop and after an hour of silence: a process that wakes later, or a new one
-- of a drained name, is as drained as before.

create table drain (
  node text primary key check (octet_length(node) between 1 and 300),   -- a process's id, or a node's name and so whatever process has it
  is_name bool not null, drained_at timestamptz not null);
insert into drain select id, false, clock() from node where drained;

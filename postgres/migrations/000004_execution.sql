-- Up Migration
-- Batch execution: one function, many argument lists, split over nodes (docs/systems/executions.md).
-- States of an execution: 2 staging (its list is not complete, nothing of it runs), 0 created, 1 in progress, 100 done, -3 cancelled,
-- -4 deleted: nobody sees it any more, its rows are going.
-- States of an item: 0 created, 1 in progress, 100 done, -1 failed, -2 permanently failed: workflows/planning/executions/states.ts is the one list.

create table execution (
  id uuid primary key,
  function_id text not null check (octet_length(function_id) between 1 and 512),
  method text not null check (octet_length(method) between 1 and 512),
  config json not null, topic text,
  state smallint not null default 2 check (state in (-4, -3, 0, 1, 2, 100)),
  max_attempts int not null default 0 check (max_attempts >= 0),   -- asked for; 0: the operator's
  attempts_limit int check (attempts_limit > 0),     -- the lower of that and the operator's: written by each turn
  items int not null default 0 check (items >= 0),
  n_created int not null default 0, n_running int not null default 0, n_done int not null default 0, n_failed int not null default 0, n_dead int not null default 0,
  run text, run_started_at timestamptz, epoch bigint not null default 0, turn bigint not null default 0,   -- the workflow run that decides: a later run raises the epoch
  round int not null default 0,                      -- rounds planned so far; a chunk carries its own
  wants_nodes bool not null default false, note text,   -- what it waits for, for people
  resume_at timestamptz,                             -- the sweeper wakes its workflow then
  created_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  check (least(n_created, n_running, n_done, n_failed, n_dead) >= 0),
  check (n_created + n_running + n_done + n_failed + n_dead = items),
  check ((state in (100, -3, -4)) = (finished_at is not null)),
  check (state <> 100 or n_done + n_dead = items), check (state not in (0, 1) or n_done + n_dead < items),   -- E9, both ways
  check (state in (0, 1) or not wants_nodes)) with (fillfactor = 50);
create index execution_open on execution (resume_at) where state in (0, 1);
create index execution_staging on execution (resume_at) where state = 2;
create index execution_ended on execution (finished_at) where state in (100, -3);      -- retention
create index execution_deleted on execution (finished_at) where state = -4;
create index execution_created on execution (created_at, id);

-- What one node was given in one round. The lease is by clock(); whoever closes a chunk fences its node out: results of it are refused.
create table chunk (
  id uuid primary key, execution_id uuid not null references execution,
  round int not null, place int not null,            -- of the node in its round: item i went to place i mod n
  epoch bigint not null,                             -- of the execution when it was planned
  node_id text not null,
  state smallint not null default 2 check (state in (2, 0, 1, 100, -1)),   -- being filled, ready, taken by its node, done, closed (its items were given back)
  n int not null default 0, n_open int not null default 0 check (n_open between 0 and n),   -- given, and not processed yet
  expires_at timestamptz, reason text, created_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  check ((state in (100, -1)) = (finished_at is not null)), check (state <> 100 or n_open = 0), check (state <> 1 or expires_at is not null)) with (fillfactor = 50);
create unique index chunk_execution on chunk (execution_id, round, place);

create table work_item (
  execution_id uuid not null, position int not null check (position >= 0),
  state smallint not null default 0 check (state in (0, 1, 100, -1, -2)), attempts smallint not null default 0,
  content_id uuid not null,                          -- E12; not unique, hence:
  copy int not null check (copy > 0),                -- which of the items with this content id, by position
  chunk_id uuid,                                     -- where it is, or where its last attempt was
  exit_code int, arguments json not null, stdout text, stderr text,
  primary key (execution_id, position), check (state not in (1, 100, -1, -2) or chunk_id is not null))
  with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create unique index work_item_content on work_item (execution_id, content_id, copy);
create index work_item_state on work_item (execution_id, state, position) where state <> 100;
create index work_item_chunk on work_item (chunk_id, position) where chunk_id is not null;

alter table node add column functions text[] not null default '{}';   -- what a node that answers roll calls (batch) can run

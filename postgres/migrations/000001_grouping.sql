-- Up Migration
-- Every fact of grouping (docs/internals/store.md; what was measured is in docs/performance.md).
-- States are numbers: workflows/planning/states.ts is the one list of them.

-- The one clock: stable, so that an index condition may use it. Only tests set muster.clock.
create function clock() returns timestamptz stable language sql as
  $$ select statement_timestamp() + coalesce(nullif(current_setting('muster.clock', true), ''), '0')::interval $$;

-- One row: who we are, so that idempotency keys of two installations never meet at one downstream.
create table installation (id uuid primary key default gen_random_uuid(), one bool not null unique default true check (one));
insert into installation default values;

create table handler (
  id int generated always as identity primary key,
  name text not null unique check (octet_length(name) between 1 and 64),
  paused_at timestamptz, pause_reason text,
  hold_until timestamptz,                            -- back pressure with scope handler and its rate limit
  allowed int check (allowed > 0),                   -- calls in flight after back pressure halved them; null: per_handler
  paces float8[] not null default '{}',              -- of each rate with scope handler: Unix ms before which nothing more may start
  -- settings, as the last worker or client registered them: the store needs them where no handler code runs
  leaders int not null check (leaders >= 0),         -- 0: one a target
  max_items int not null check (max_items > 0), max_bytes bigint, overhead_bytes int not null default 0, max_weight float8,
  min_items int not null default 1, linger_ms bigint not null check (linger_ms >= 0), quiet_ms bigint,   -- bigint: 30 days of ms are above an int
  per_target int not null check (per_target > 0), per_handler int not null check (per_handler > 0),
  weight_per_target float8, weight_per_handler float8, rates jsonb not null default '[]', keyed bool not null default false,
  queued_per_target int, queued_per_handler int, retention_ms bigint not null, timeout_ms int not null
) with (fillfactor = 50);

create table leader (                                -- who may form batches: ring state and lease in one row
  id int generated always as identity primary key,
  handler_id int not null references handler, name text not null,
  state smallint not null default 0 check (state in (0, 1, 2)),     -- idle, working, waiting until wake_at
  wake_at timestamptz,
  blocked bool not null default false,               -- due, but waits for tokens of the handler (slots, weight, rate): the ring does not wake it
  wants_slots bool not null default false,           -- blocked because other leaders hold the slots
  holder text, run_started_at timestamptz,           -- the workflow run; a later run raises the epoch
  epoch bigint not null default 0, turn bigint not null default 0, answer jsonb,   -- answer of the last turn, for its repeats
  acquired_at timestamptz, expires_at timestamptz,
  last_reason smallint, unique (handler_id, name),
  check ((state = 2) = (wake_at is not null)), check (state = 0 or expires_at is not null)) with (fillfactor = 50);
create index leader_expired on leader (expires_at) where state <> 0;
create index leader_blocked on leader (handler_id) where blocked;

create table target (
  id int generated always as identity primary key,
  handler_id int not null references handler,
  key text not null check (octet_length(key) between 1 and 512),
  leader_id int not null references leader,
  paused bool not null default false, paused_at timestamptz, pause_reason text,
  busy bool not null default false,                  -- its calls in flight are at the limit: outside the ring until one ends
  due_at timestamptz, hold_until timestamptz,
  flush_seq bigint,                                  -- everything up to this is due now
  overrides jsonb,                                   -- lingerMs, quietPeriodMs, maxItems, minItems
  paces float8[] not null default '{}', allowed int check (allowed > 0),
  unique (handler_id, key), check (paused = (paused_at is not null))) with (fillfactor = 60);
create index target_due on target (leader_id, due_at) where due_at is not null and not paused and not busy;
create index target_busy on target (leader_id) where busy;

create table initiator (
  id int generated always as identity primary key, kind text not null check (kind in ('workflow', 'webhook')), address jsonb not null unique,
  used_at timestamptz not null);                     -- a client may use its id for a while after this, before a task refers to it
create index initiator_used on initiator (used_at);

create sequence submit_seq cache 1;                  -- task.seq = submit_seq * 16384 + place in the call
create table task (                                  -- insert-only: never updated
  seq bigint primary key, created_at timestamptz not null, target_id int not null,   -- no foreign key: a check per row
  bytes int not null, priority smallint not null default 0, initiator_id int, weight float8, id text not null, key text, payload json not null);
create unique index task_id on task (id);
create index task_initiator on task (initiator_id) where initiator_id is not null;

create table queue (                                 -- ready tasks; inserted with the task, deleted by the claim
  target_id int not null, priority smallint not null default 0, seq bigint not null, ready_at timestamptz not null,
  bytes int not null, attempts smallint not null default 0, weight float8, key text, primary key (target_id, priority, seq))
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
create table delayed (                               -- not before its time: notBefore of the caller, backoff of a retry
  target_id int not null, priority smallint not null default 0, seq bigint not null, not_before timestamptz not null,
  bytes int not null, attempts smallint not null default 0, weight float8, key text, primary key (target_id, not_before, seq))
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_truncate = off);
create unique index delayed_seq on delayed (seq);

create table batch (
  id bigint generated always as identity primary key,
  target_id int not null references target, leader_id int not null,
  epoch bigint not null, turn bigint not null,       -- who formed it
  dispatch bigint,                                   -- the submission activity that carries it; null: waits in the store
  state smallint not null default 1 check (state in (1, 3, 4, 5, 6, 7)), reason smallint not null,
  attempt smallint not null default 0,               -- calls marked so far; guards settle
  counted smallint not null default 0,               -- of those, the ones that count against maxAttempts
  attempt_by text, attempt_until timestamptz,        -- not null: a call was marked and is not concluded
  refusals smallint not null default 0, retry_at timestamptz,
  reference text, poll_at timestamptz, poll_until timestamptz,      -- accepted downstream
  parent_id bigint, sent_as bigint,                  -- split from; the batch under whose key the downstream may know these tasks
  depth smallint not null default 0, refused bool not null default false,
  unsure bool not null default false,                -- an earlier call may have been applied: only the same key may follow
  n int not null check (n > 0), n_left int not null default 0 check (n_left between 0 and n),   -- left: put back, split off or with an own outcome
  members bigint[] not null check (cardinality(members) = n), bytes bigint not null, weight float8 not null,
  fresh bool not null default false,                 -- no member was tried before it joined: its member rows need not be read
  error text, completion jsonb,                       -- the completion from outside that settled it: digest and counts, so that a repeat is known
  created_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  check ((state in (4, 5, 6, 7)) = (finished_at is not null)), check (state <> 7 or n_left = n),
  check (attempt_until is null or state in (1, 3)), check (dispatch is null or state = 1)) with (fillfactor = 70);
create index batch_open on batch (leader_id, id) where state = 1;
create index batch_open_target on batch (target_id) where state = 1;
create index batch_bad on batch (target_id, state, id) where state in (3, 5, 6);
create index batch_target on batch (target_id, id);
create index batch_parent on batch (parent_id) where parent_id is not null;
create index batch_poll on batch (poll_at) where reference is not null and state = 1;
create index batch_reference on batch (reference) where reference is not null;
create index batch_finished on batch (finished_at) where finished_at is not null;

create table dispatch (                              -- the live submission activities of a leader, and their share of the calls in flight
  leader_id int not null references leader, no bigint not null, handler_id int not null, slots int not null check (slots >= 0),
  node text, started_at timestamptz not null, seen_at timestamptz not null, primary key (leader_id, no)) with (fillfactor = 50);
create index dispatch_handler on dispatch (handler_id);

create table member (seq bigint primary key, batch_id bigint not null, attempts smallint not null);   -- a task is in one batch, by key
create table result_page (                           -- the answer's values, at most 1,000 members or 1 MB a page
  batch_id bigint not null, attempt smallint not null, no int not null, first int not null, last int not null,
  results json not null,                             -- [[place, value], ...] in the order in which they came: member order, if the downstream keeps it
  primary key (batch_id, attempt, no));
create table outcome (                               -- only tasks whose end differs from their batch's
  seq bigint primary key, target_id int not null, state smallint not null check (state between 4 and 7), attempts smallint not null,
  batch_id bigint, result json, error text, at timestamptz not null);
create index outcome_target on outcome (target_id, state, seq);
create index outcome_at on outcome (at);
create table busy_key (target_id int not null, key text not null, seq bigint not null, primary key (target_id, key));   -- distinctBy
create index busy_key_seq on busy_key (seq);

create table notification (                          -- outbox: one a batch and initiator, written by the settling transaction
  id bigint generated always as identity primary key, batch_id bigint, attempt smallint, initiator_id int not null references initiator,   -- no batch: cancelled before it was in one
  body jsonb not null, attempts smallint not null default 0, next_at timestamptz, done_at timestamptz, error text, unique (batch_id, attempt, initiator_id));
create index notification_initiator on notification (initiator_id);
create index notification_due on notification (next_at) where done_at is null;

create table lease (
  resource text primary key, holder text not null, epoch bigint not null default 1, acquired_at timestamptz not null,
  expires_at timestamptz not null, revoked_at timestamptz, wanted_by text, moved_at timestamptz, reason text) with (fillfactor = 50);
create index lease_holder on lease (holder);
create table node (
  id text primary key, task_queue text not null, handlers text[] not null default '{}', version text not null default '', attributes jsonb not null default '{}',
  batch bool not null default false, load float8, started_at timestamptz not null, seen_at timestamptz not null, draining bool not null default false) with (fillfactor = 50);

create view task_state as
  select t.seq, t.id, t.target_id, coalesce(m.batch_id, o.batch_id) batch_id,
    coalesce(o.attempts, m.attempts + b.counted, q.attempts, d.attempts, 0)::smallint attempts,
    coalesce(o.state, case when b.state = 1 and b.attempt > 0 then 2::smallint else b.state end, 0::smallint) state
  from task t left join outcome o using (seq) left join member m using (seq) left join batch b on b.id = m.batch_id
    left join queue q on q.target_id = t.target_id and q.priority = t.priority and q.seq = t.seq left join delayed d on d.seq = t.seq;
create view state_count as
  select target_id, 0::smallint state, count(*) n from queue group by 1
  union all select target_id, 0::smallint, count(*) from delayed group by 1
  union all select target_id, case when state = 1 and attempt > 0 then 2::smallint else state end, sum(n - n_left)::bigint from batch where state <> 7 group by 1, 2
  union all select target_id, state, count(*) from outcome group by 1, 2;

-- Up Migration
-- Every fact of Muster (docs/internals/store.md; what was measured is in docs/performance.md).
-- States and statuses are numbers, with the name beside each. The lists of names: workflows/planning/states.ts, lanes/statuses.ts,
-- fanouts/states.ts and executions/states.ts beside it, calls/cancellation.ts.

-- The one clock: stable, so that an index condition may use it. Only tests set muster.clock.
create function clock() returns timestamptz stable language sql as
  $$ select statement_timestamp() + coalesce(nullif(current_setting('muster.clock', true), ''), '0')::interval $$;

-- One row: who we are, so that idempotency keys of two installations never meet at one downstream.
create table installation (id uuid primary key default gen_random_uuid(), one bool not null unique default true check (one));
insert into installation default values;

-- Grouping and calls (docs/systems/grouping.md)

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
  queued_per_target int, queued_per_handler int, retention_ms bigint not null, timeout_ms int not null,
  partitions int not null default 0 check (partitions between 0 and 1024),   -- 0: no affinity, any node serves it
  needs jsonb not null default '{}',                 -- attributes that a node must have to serve it
  cancels bool not null default false,               -- it can ask its downstream to stop an accepted batch
  -- How often back pressure has reduced a limit: a call is made under the reduction that its sender knew, and its refusal
  -- counts only while that is the last one. So calls that are refused together reduce it once.
  reductions int not null default 0
) with (fillfactor = 50);

create table leader (                                -- who may form batches: ring state and lease in one row
  id int generated always as identity primary key,
  handler_id int not null references handler, name text not null,
  state smallint not null default 0 /* idle */ check (state in (0 /* idle */, 1 /* working */, 2 /* waiting */)),   -- waiting: until wake_at
  wake_at timestamptz,
  blocked bool not null default false,               -- due, but waits for tokens of the handler (slots, weight, rate): the ring does not wake it
  wants_slots bool not null default false,           -- blocked because other leaders hold the slots
  holder text, run_started_at timestamptz,           -- the workflow run; a later run raises the epoch
  epoch bigint not null default 0, turn bigint not null default 0, answer jsonb,   -- answer of the last turn, for its repeats
  acquired_at timestamptz, expires_at timestamptz,
  -- Since when a wake has gone unanswered. A wake (state = 1) sets it, a later wake keeps it, and the turn that answers
  -- clears it: unlike `expires_at` it is not put off when the sweeper wakes a silent leader again and again.
  woken_at timestamptz,
  last_reason smallint, unique (handler_id, name),
  check ((state = 2 /* waiting */) = (wake_at is not null)), check (state = 0 /* idle */ or expires_at is not null)) with (fillfactor = 50);
create index leader_expired on leader (expires_at) where state <> 0 /* idle */;
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
  reductions int not null default 0,                 -- as of a handler
  unique (handler_id, key), check (paused = (paused_at is not null))) with (fillfactor = 60);
create index target_due on target (leader_id, due_at) where due_at is not null and not paused and not busy;
create index target_busy on target (leader_id) where busy;

create table recipient (
  id int generated always as identity primary key, kind text not null check (kind in ('workflow', 'webhook')), address jsonb not null unique,
  used_at timestamptz not null);                     -- a client may use its id for a while after this, before a task refers to it
create index recipient_used on recipient (used_at);

create sequence submit_seq cache 1;                  -- task.seq = submit_seq * 16384 + place in the call
create table task (                                  -- insert-only: never updated
  seq bigint primary key, created_at timestamptz not null, target_id int not null,   -- no foreign key: a check per row
  bytes int not null, priority smallint not null default 0, recipient_id int, weight float8, id text not null, key text, payload json not null);
create unique index task_id on task (id);
create index task_recipient on task (recipient_id) where recipient_id is not null;

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
  dispatch bigint,                                   -- the dispatch that carries it; null: waits in the store
  state smallint not null default 1 /* open */
    check (state in (1 /* open */, 3 /* unknown */, 4 /* succeeded */, 5 /* failed */, 6 /* dead */, 7 /* dissolved */)),
  reason smallint not null,
  attempt int not null default 0,                    -- calls marked, and results read, so far; guards settle
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
  fault_id int, fault_attempt int,                   -- of the attempt that threw; null: none did
  created_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  check ((state in (4 /* succeeded */, 5 /* failed */, 6 /* dead */, 7 /* dissolved */)) = (finished_at is not null)),
  check (state <> 7 /* dissolved */ or n_left = n),
  check (attempt_until is null or state in (1 /* open */, 3 /* unknown */)), check (dispatch is null or state = 1 /* open */)) with (fillfactor = 70);
create index batch_open on batch (leader_id, id) where state = 1 /* open */;
create index batch_open_target on batch (target_id) where state = 1 /* open */;
create index batch_bad on batch (target_id, state, id) where state in (3 /* unknown */, 5 /* failed */, 6 /* dead */);
create index batch_target on batch (target_id, id);
create index batch_parent on batch (parent_id) where parent_id is not null;
create index batch_poll on batch (poll_at) where reference is not null and state = 1 /* open */;
create index batch_reference on batch (reference) where reference is not null;
create index batch_finished on batch (finished_at) where finished_at is not null;

create table dispatch (                              -- the live dispatches of a leader, and their share of the calls in flight
  leader_id int not null references leader, no bigint not null, handler_id int not null, slots int not null check (slots >= 0),
  node text, started_at timestamptz not null, seen_at timestamptz not null, primary key (leader_id, no)) with (fillfactor = 50);
create index dispatch_handler on dispatch (handler_id);

create table member (seq bigint primary key, batch_id bigint not null, attempts smallint not null);   -- a task is in one batch, by key
create table result_page (                           -- the answer's values, at most 1,000 members or 1 MB a page
  batch_id bigint not null, attempt int not null, no int not null, first int not null, last int not null,
  results json not null,                             -- [[place, value], ...] in the order in which they came: member order, if the downstream keeps it
  primary key (batch_id, attempt, no));
create table outcome (                               -- only tasks whose end differs from their batch's
  seq bigint primary key, target_id int not null, state smallint not null check (state between 4 /* succeeded */ and 7 /* cancelled */), attempts smallint not null,
  batch_id bigint, result json, error text, at timestamptz not null);
create index outcome_target on outcome (target_id, state, seq);
create index outcome_at on outcome (at);
create table busy_key (target_id int not null, key text not null, seq bigint not null, primary key (target_id, key));   -- distinctBy
create index busy_key_seq on busy_key (seq);

create table notification (                          -- outbox: one a batch and recipient, written by the settling transaction
  id bigint generated always as identity primary key, batch_id bigint, attempt int, recipient_id int not null references recipient,   -- no batch: cancelled before it was in one
  body jsonb not null, attempts smallint not null default 0, next_at timestamptz, done_at timestamptz, error text,
  created_at timestamptz default clock(),            -- part of the id under which receivers know it: after a restored backup its number comes again
  unique (batch_id, attempt, recipient_id));
create index notification_recipient on notification (recipient_id);
create index notification_due on notification (next_at) where done_at is null;

-- Batches that a downstream accepted and that were given up: it is asked to stop them, once at least. A row is written in the transaction
-- that gives the batch up; the handler's monitor takes it, calls the handler's `cancel`, and keeps the answer here.

create table cancellation (
  id bigint generated always as identity primary key,
  batch_id bigint not null, handler_id int not null references handler, reference text not null,
  why smallint not null check (why between 0 /* caller */ and 2 /* decision */),
  state smallint not null default 0 /* requested */ check (state between 0 /* requested */ and 5 /* withdrawn */),
  tries int not null default 0,                                        -- calls begun; fences one whose lease has passed
  next_at timestamptz,                                                 -- next call, or the end of the lease of the one under way
  error text, requested_at timestamptz not null, ended_at timestamptz,
  check ((state = 0 /* requested */) = (next_at is not null)), check ((state = 0 /* requested */) = (ended_at is null)));
create unique index cancellation_batch on cancellation (batch_id, md5(reference));
create index cancellation_due on cancellation (handler_id, next_at) where state = 0 /* requested */;

-- Where handlers threw: one row per handler and distinct stack, however many batches it concerns; a batch names the one of its last call.
create table fault (
  id int generated always as identity primary key,
  handler_id int not null references handler, stack text not null check (length(stack) <= 2000), at timestamptz not null);
create unique index fault_stack on fault (handler_id, md5(stack));

-- Nodes: the partitions of handlers with affinity, a lease each (docs/systems/nodes.md)

-- A partition is the leader of that number and its targets, or the lanes whose service falls into it; its lease says which node serves it.
create table lease (
  resource text primary key,
  holder text,                                       -- null: given up, or never held; the epoch goes on from here
  epoch bigint not null default 1, acquired_at timestamptz not null,
  expires_at timestamptz not null, revoked_at timestamptz, wanted_by text, moved_at timestamptz, reason text,
  kept_for text, kept_until timestamptz,             -- given up by a node of this name that restarts
  check ((kept_for is null) = (kept_until is null)), check (kept_for is null or holder is null)) with (fillfactor = 50);
create index lease_holder on lease (holder);
create table node (
  id text primary key, task_queue text not null, handlers text[] not null default '{}', version text not null default '', attributes jsonb not null default '{}',
  batch bool not null default false, load float8, started_at timestamptz not null, seen_at timestamptz not null, draining bool not null default false,
  functions text[] not null default '{}',            -- what a node that answers roll calls (batch) can run
  name text,                                         -- the same after a restart; null: none was given
  drained bool not null default false                -- by an admin: it is to have no partitions, and answers no roll call
) with (fillfactor = 50);

create table partition (
  resource text primary key references lease,          -- 'partition/<handler>/<no>'
  handler_id int not null references handler, no int not null check (no between 0 and 1023),
  pinned_to text, pinned_at timestamptz,               -- an admin's move: this node, or any of this name, while one lives
  unique (handler_id, no), check ((pinned_to is null) = (pinned_at is null)));

-- An admin's drain outlives the node's row, which goes at a clean stop and after an hour of silence: a process that wakes later, or a new one
-- of a drained name, is as drained as before.

create table drain (
  node text primary key check (octet_length(node) between 1 and 300),   -- a process's id, or a node's name and so whatever process has it
  is_name bool not null, drained_at timestamptz not null);

-- Lanes: the queuer, and the batches in lanes (docs/systems/lanes.md)

-- A batch of a lane has leader_id 0: no leader formed it, and none adopts, counts or sends it.
-- Statuses are numbers: workflows/planning/lanes/statuses.ts is the one list of them; from 10 on a lane batch has ended.

create table queuer (                                -- one a partition: ring state, lease and rules of who is granted next
  id smallint primary key,
  state smallint not null default 0 /* idle */ check (state in (0 /* idle */, 1 /* working */, 2 /* waiting */)), wake_at timestamptz,   -- as of a leader
  holder text, run_started_at timestamptz,           -- the workflow run; a later run raises the epoch
  epoch bigint not null default 0, turn bigint not null default 0, answer jsonb,
  acquired_at timestamptz, expires_at timestamptz,
  slots int not null default 16 check (slots between 1 and 1000),   -- submitters
  strategy smallint not null default 1 /* per-service */ check (strategy between 0 /* single */ and 3 /* multi-round */), depth int not null default 3 check (depth > 0),
  round bigint not null default 0,                   -- the clock of lane_state.served
  grants bigint not null default 0,
  woken_at timestamptz,                              -- as of a leader
  paused_at timestamptz, pause_reason text,
  check ((state = 2 /* waiting */) = (wake_at is not null)), check (state = 0 /* idle */ or expires_at is not null)) with (fillfactor = 50);
insert into queuer (id) values (0);

create table submitter (                             -- live dispatches of a queuer, and the slots that they hold
  no bigint generated always as identity primary key, queuer_id smallint not null references queuer, epoch bigint not null,
  slots int not null check (slots >= 0), node text,
  started_at timestamptz not null, expires_at timestamptz not null) with (fillfactor = 50);
create index submitter_queuer on submitter (queuer_id);

-- Whoever submits to a lane locks this row until its commit, then draws the sequence. So nothing that a grant or a settlement
-- writes stands here: they must not wait for a caller's open transaction.
create table lane (
  id int generated always as identity primary key,
  service text not null unique check (octet_length(service) between 1 and 512),
  queuer_id smallint not null default 0 references queuer,
  handler_id int not null references handler,        -- whose settings these are: the first one that used the service
  kind smallint not null check (kind in (0 /* guaranteed */, 1 /* non-guaranteed */)),   -- guaranteed: the downstream keeps the order
  approach smallint not null check (approach between 0 /* unconstrained */ and 2 /* parallel */),
  on_invalid smallint not null check (on_invalid in (0 /* continue */, 1 /* halt */)),
  pending_limit int check (pending_limit > 0),
  partition text references partition);
create index lane_partition on lane (partition) where partition is not null;

create table lane_state (                            -- the moving half of a lane, one to one
  lane_id int primary key references lane, queuer_id smallint not null,
  weight int not null default 1 check (weight between 1 and 10000), deficit bigint not null default 0,
  served bigint not null default 0,                  -- the round of its queuer in which it is due
  granted bigint not null default 0,                 -- how often, for its share
  ready bool not null default false,                 -- worth a look: written by whoever changes something, cleared by the grant that found nothing
  due_at timestamptz,                                -- worth a look then: a delay, a retry, a linger
  pending int not null default 0 check (pending >= 0),   -- submitted, pending or valid
  saturated bool not null default false,             -- at its pending limit, and not yet below half of it
  hold_until timestamptz,                            -- back pressure
  blocked_by int references handler,                 -- its next batch waits for a call, or for weight, of this handler to be free again
  paused_at timestamptz, pause_reason text,
  -- The handlers for whose nodes its next batches wait: no live process has them, or none holds the lane's partition. A lane
  -- that is ready again may keep the last ones.
  unserved_by int[],
  halted_by bigint, halted_at timestamptz, halt_reason text, check ((halted_by is null) = (halted_at is null))) with (fillfactor = 50);
create index lane_ready on lane_state (queuer_id, served, lane_id) where ready and paused_at is null and halted_by is null;
create index lane_blocked on lane_state (blocked_by, queuer_id, served, lane_id) where blocked_by is not null;
create index lane_halted on lane_state (lane_id) where halted_by is not null;
create index lane_due on lane_state (queuer_id, due_at) where due_at is not null and not ready;
create index lane_unserved on lane_state using gin (unserved_by) where unserved_by is not null and not ready;

alter table target add column lane_id int references lane;           -- a target feeds one lane, for good
alter table target add constraint target_lane unique (id, lane_id);

create table lane_queue (                            -- ready tasks of an ordered handler: one order a lane, across its targets
  lane_id int not null, seq bigint not null, target_id int not null, ready_at timestamptz not null, bytes int not null, attempts smallint not null default 0,
  weight float8, key text, reads text[], writes text[], primary key (lane_id, seq))
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_truncate = off);
create unique index lane_queue_seq on lane_queue (seq);

create table lane_batch (                            -- a batch in a lane
  batch_id bigint primary key references batch on delete cascade,
  lane_id int not null references lane, target_id int not null,
  seq bigint not null,                               -- its place in the lane: of its first task; parts of a batch stand within their batch's range
  status smallint not null default 0 /* unsubmitted */ check (status between 0 /* open */ and 19 /* ended */),   -- open below 10
  handler_id int not null references handler,
  submitter bigint,                                  -- of the last grant
  not_before timestamptz, changed_at timestamptz not null,
  granted_at timestamptz, granted_attempt int,       -- the first grant since its last call, and the attempts before it
  look_ups smallint not null default 0,              -- of its unknown outcome, without a clear answer
  overdue smallint not null default 0,               -- deadlines that it passed while it was pending
  resolving bool not null default false,             -- in flight to be looked up (its outcome was unknown when it was granted), not to be sent
  weight int not null check (weight > 0), reads text[] not null, writes text[] not null,
  foreign key (target_id, lane_id) references target (id, lane_id));   -- a batch stands in the lane that its target feeds
create index batch_given on batch ((members[1])) where reason = 9 /* given */;   -- a call that is repeated finds its batch
create unique index lane_batch_open on lane_batch (lane_id, seq) where status < 10 /* open */;
create index lane_batch_granted on lane_batch (submitter) where status = 3 /* submitted */;
create index lane_batch_taken on lane_batch (handler_id) where status between 2 /* unknown */ and 5 /* valid */;   -- what takes of its handler's limits
create index lane_batch_lane on lane_batch (lane_id, batch_id);

create table dependency (                            -- only of batches that are not over
  batch_id bigint not null references lane_batch on delete cascade, needs bigint not null references lane_batch on delete cascade,
  primary key (batch_id, needs), check (batch_id <> needs));
create index dependency_needs on dependency (needs);

-- The state of the tasks of an open batch, by its status in its lane: workflows/planning/lanes/statuses.ts has the names.
create function lane_task_state(status smallint) returns smallint immutable language sql as
  $$ 
    select case status when 0 /* unsubmitted */ then 1 /* batched */ when 1 /* delayed */ then 0 /* created */
      when 2 /* unknown */ then 3 /* unknown */ when 6 /* parked */ then 3 /* unknown */ else 2 /* in-progress */ end::smallint $$;

-- Fan-outs: a growing set of items, a bit each, and exactly one "complete" (docs/systems/fanouts.md).
-- Lock order: rows of segment in (fanout_id, no) order, then rows of fanout in id order. An add writes the fanout's row first and only new segments after it.

-- Bit i of a segment is worth 2 ^ (i % 8) in byte i / 8, which is how Postgres counts the bits of a bytea (get_bit, set_bit), and
-- workflows/planning/fanouts/bits.ts too. Bits past the size are 0.
create function ones(n int) returns bytea immutable strict parallel safe language sql as
  $$ select decode(repeat('ff', n / 8) || case when n % 8 = 0 then '' else lpad(to_hex((1 << n % 8) - 1), 2, '0') end, 'hex') $$;
create function put_bits(bits bytea, indexes int[], value int) returns bytea immutable strict parallel safe language plpgsql as $$
declare
  i int;
begin
  foreach i in array indexes loop
    bits := set_bit(bits, i, value);
  end loop;
  return bits;
end $$;

-- Ends a statement, with nothing of it applied, over a race that shows only once the rows are locked.
create function refuse(why text) returns boolean volatile language plpgsql as $$
begin
  raise exception '%', why using errcode = 'MU001';
end $$;

create table fanout (
  id bigint generated always as identity primary key,
  public_id uuid not null unique default gen_random_uuid(),   -- in every item's id; may be the caller's choice, so that an open can be repeated
  user_key text check (octet_length(user_key) between 1 and 1024),
  state smallint not null default 0 /* open */ check (state between 0 /* open */ and 4 /* deleted */),   -- deleted: its rows are going
  segment_size smallint not null check (segment_size between 1 and 8000),
  segments int not null default 0 check (segments >= 0), items bigint not null default 0 check (items >= segments),
  open_segments int not null default 0 check (open_segments between 0 and segments),   -- segments that have a bit: completion rests on this alone
  recipient_id int references recipient,
  opened_at timestamptz not null, active_at timestamptz not null, sealed_at timestamptz, completed_at timestamptz, expired_at timestamptz,
  check (state <> 0 /* open */ or sealed_at is null),
  check (state not in (1 /* sealed */, 2 /* complete */) or sealed_at is not null),
  check (state <> 1 /* sealed */ or open_segments > 0), check (completed_at is null or open_segments = 0),   -- sealed and nothing open is complete
  check (state <> 2 /* complete */ or completed_at is not null), check (state > 1 /* complete or expired */ or completed_at is null),
  check (state <> 3 /* expired */ or expired_at is not null), check (state > 2 /* expired */ or expired_at is null)) with (fillfactor = 50);
create index fanout_idle on fanout (state, active_at);
create index fanout_recipient on fanout (recipient_id) where recipient_id is not null;

create table segment (
  fanout_id bigint not null references fanout, no int not null check (no >= 0),
  size smallint not null check (size between 1 and 8000), bits bytea not null,   -- 1: not acked
  primary key (fanout_id, no), check (octet_length(bits) = (size + 7) / 8))
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
alter table segment alter bits set storage plain;   -- never compressed: it is written again and again

create table fanout_add (                            -- adds that were given a key, so that they can be repeated
  fanout_id bigint not null references fanout, key text not null check (octet_length(key) between 1 and 256),
  first int not null, items int not null check (items > 0), primary key (fanout_id, key));

alter table notification add column fanout_id bigint;   -- of a fan-out's end: one a fan-out, whoever tries to tell it
create unique index notification_fanout on notification (fanout_id) where fanout_id is not null;

create function fanout_event(public_id uuid, user_key text, state smallint, items bigint, at timestamptz) returns jsonb stable language sql as
  $$ select jsonb_build_object('type', case state when 2 /* complete */ then 'fanout.completed' else 'fanout.expired' end, 'fanout', public_id, 'userKey', user_key,
       'items', items, 'endedAt', to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) $$;

-- Batch execution: one function, many argument lists, split over nodes (docs/systems/executions.md).
-- A deleted execution is seen by no reader: its rows are going. Names of states: workflows/planning/executions/states.ts is the one list.

create table execution (
  id uuid primary key,
  function_id text not null check (octet_length(function_id) between 1 and 512),
  method text not null check (octet_length(method) between 1 and 512),
  config json not null, topic text,
  state smallint not null default 2 /* staging */ check (state in (
    -4 /* deleted */, -3 /* cancelled */, 0 /* created */, 1 /* in progress */, 2 /* staging */, 100 /* done */)),
  max_attempts int not null default 0 check (max_attempts >= 0),   -- asked for; 0: the operator's
  attempts_limit int check (attempts_limit > 0),     -- the lower of that and the operator's: written by each turn
  items int not null default 0 check (items >= 0),
  n_created int not null default 0, n_running int not null default 0, n_done int not null default 0, n_failed int not null default 0, n_dead int not null default 0,
  run text, run_started_at timestamptz, epoch bigint not null default 0, turn bigint not null default 0,   -- the workflow run that decides: a later run raises the epoch
  round int not null default 0,                      -- rounds planned so far; a chunk carries its own
  wants_nodes bool not null default false, note text,   -- what it waits for, for people
  resume_at timestamptz,                             -- the sweeper wakes its workflow then
  -- Since when a wake has gone unanswered. The sweeper sets it when it wakes the execution, and a turn clears it: unlike
  -- `resume_at` it is not put off by the next wake. Means something while the execution is open (state 0 or 1).
  woken_at timestamptz,
  created_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  check (least(n_created, n_running, n_done, n_failed, n_dead) >= 0),
  check (n_created + n_running + n_done + n_failed + n_dead = items),
  check ((state in (100 /* done */, -3 /* cancelled */, -4 /* deleted */)) = (finished_at is not null)),
  check (state <> 100 /* done */ or n_done + n_dead = items),
  check (state not in (0 /* created */, 1 /* in progress */) or n_done + n_dead < items),
  check (state in (0 /* created */, 1 /* in progress */) or not wants_nodes)) with (fillfactor = 50);
create index execution_open on execution (resume_at) where state in (0 /* created */, 1 /* in progress */);
create index execution_woken on execution (woken_at) where woken_at is not null;
create index execution_staging on execution (resume_at) where state = 2 /* staging */;
create index execution_ended on execution (finished_at) where state in (100 /* done */, -3 /* cancelled */);      -- retention
create index execution_deleted on execution (finished_at) where state = -4 /* deleted */;
create index execution_created on execution (created_at, id);

-- What one node was given in one round. The lease is by clock(); whoever closes a chunk fences its node out: results of it are refused.
create table chunk (
  id uuid primary key, execution_id uuid not null references execution,
  round int not null, place int not null,            -- of the node in its round: item i went to place i mod n
  epoch bigint not null,                             -- of the execution when it was planned
  node_id text not null,
  state smallint not null default 2 /* filling */
    check (state in (2 /* filling */, 0 /* ready */, 1 /* taken */, 100 /* done */, -1 /* closed */)),   -- closed: its items were given back
  n int not null default 0, n_open int not null default 0 check (n_open between 0 and n),   -- given, and not processed yet
  expires_at timestamptz, reason text, created_at timestamptz not null, started_at timestamptz, finished_at timestamptz,
  check ((state in (100 /* done */, -1 /* closed */)) = (finished_at is not null)), check (state <> 100 /* done */ or n_open = 0),
  check (state <> 1 /* taken */ or expires_at is not null)) with (fillfactor = 50);
create unique index chunk_execution on chunk (execution_id, round, place);

create table work_item (
  execution_id uuid not null, position int not null check (position >= 0),
  state smallint not null default 0 /* created */ check (state in (
    0 /* created */, 1 /* in progress */, 100 /* done */, -1 /* failed */, -2 /* permanently failed */)),
  attempts smallint not null default 0,
  content_id uuid not null,                          -- not unique, hence:
  copy int not null check (copy > 0),                -- which of the items with this content id, by position
  chunk_id uuid,                                     -- where it is, or where its last attempt was
  exit_code int, arguments json not null, stdout text, stderr text,
  primary key (execution_id, position), check (
    state not in (1 /* in progress */, 100 /* done */, -1 /* failed */, -2 /* permanently failed */) or chunk_id is not null))
  with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);
create unique index work_item_content on work_item (execution_id, content_id, copy);
create index work_item_state on work_item (execution_id, state, position) where state <> 100 /* done */;
create index work_item_chunk on work_item (chunk_id, position) where chunk_id is not null;

-- The HTTP API: who may call it, and what was answered to a request that may be repeated.

create table api_token (                             -- the token itself is nowhere: it was shown once
  id int generated always as identity primary key,
  name text not null check (octet_length(name) between 1 and 200),
  hash bytea not null unique check (octet_length(hash) = 32),        -- sha-256 of 256 random bits: nothing to guess, so nothing to slow down
  scopes text[] not null check (cardinality(scopes) > 0 and scopes <@ array['submit', 'read', 'admin']),
  created_at timestamptz not null, revoked_at timestamptz);

-- Idempotency-Key: written in the transaction of the effect (or behind an effect that is idempotent by an id made of the key), kept for 24 h.
create table idempotency_key (
  caller int not null,                               -- api_token.id; 0 where no token was asked for
  route text not null, key text not null check (octet_length(key) between 1 and 255),
  request bytea not null check (octet_length(request) = 32),         -- sha-256 of the path and the body
  status smallint not null, answer text not null,
  created_at timestamptz not null, primary key (caller, route, key));
create index idempotency_key_created on idempotency_key (created_at);

-- Where a task is, and how many are in each state: derived, never stored.
create view task_state as
  select t.seq, t.id, t.target_id, coalesce(m.batch_id, o.batch_id) batch_id,
    coalesce(o.attempts, m.attempts + b.counted, q.attempts, d.attempts, l.attempts, 0)::smallint attempts,
    coalesce(o.state,
      case when b.state = 1 /* open */ and b.leader_id = 0
          then lane_task_state((select s.status from lane_batch s where s.batch_id = b.id))
        when b.state = 1 /* open */ and b.attempt > 0 then 2::smallint /* in-progress */ else b.state end,
      0::smallint /* created */) state
  from task t left join outcome o using (seq) left join member m using (seq) left join batch b on b.id = m.batch_id
    left join queue q on q.target_id = t.target_id and q.priority = t.priority and q.seq = t.seq left join delayed d on d.seq = t.seq
    left join lane_queue l on l.seq = t.seq;
create view state_count as
  select target_id, 0::smallint /* created */ state, count(*) n
  from queue
  group by 1
  union all select target_id, 0::smallint /* created */, count(*)
  from delayed
  group by 1
  union all select target_id, 0::smallint /* created */, count(*)
  from lane_queue
  group by 1
  union all select b.target_id,
    case when b.state = 1 /* open */ and b.leader_id = 0
        then lane_task_state((select s.status from lane_batch s where s.batch_id = b.id))
      when b.state = 1 /* open */ and b.attempt > 0 then 2::smallint /* in-progress */ else b.state end,
    sum(b.n - b.n_left)::bigint
  from batch b
  where b.state <> 7 /* dissolved */
  group by 1, 2
  union all select target_id, state, count(*)
  from outcome
  group by 1, 2;

-- The catalog keeps no comment within an expression, so that each column says what its numbers mean.
comment on column leader.state is '0 idle, 1 working, 2 waiting';
comment on column leader.last_reason is
  '0 size, 1 bytes, 2 weight, 3 linger, 4 quiet, 5 manual, 6 shutdown, 7 bisect, 8 split, 9 given';
comment on column batch.state is '1 open, 3 unknown, 4 succeeded, 5 failed, 6 dead, 7 dissolved';
comment on column batch.reason is
  '0 size, 1 bytes, 2 weight, 3 linger, 4 quiet, 5 manual, 6 shutdown, 7 bisect, 8 split, 9 given';
comment on column outcome.state is '4 succeeded, 5 failed, 6 dead, 7 cancelled';
comment on column cancellation.why is '0 caller, 1 deadline, 2 decision';
comment on column cancellation.state is '0 requested, 1 confirmed, 2 refused, 3 late, 4 unsupported, 5 withdrawn';
comment on column queuer.state is '0 idle, 1 working, 2 waiting';
comment on column queuer.strategy is '0 single, 1 per-service, 2 one-round, 3 multi-round';
comment on column lane.kind is '0 guaranteed, 1 non-guaranteed';
comment on column lane.approach is '0 unconstrained, 1 serial, 2 parallel';
comment on column lane.on_invalid is '0 continue, 1 halt';
comment on column lane_batch.status is
  '0 unsubmitted, 1 delayed, 2 unknown, 3 submitted, 4 pending, 5 valid, 6 parked, 7 refused, 10 committed, 11 invalid, 12 skipped, 13 failed-dependency, 14 cancelled';
comment on column fanout.state is '0 open, 1 sealed, 2 complete, 3 expired, 4 deleted';
comment on column execution.state is '0 created, 1 in progress, 2 staging, 100 done, -3 cancelled, -4 deleted';
comment on column chunk.state is '2 filling, 0 ready, 1 taken, 100 done, -1 closed';
comment on column work_item.state is '0 created, 1 in progress, 100 done, -1 failed, -2 permanently failed';

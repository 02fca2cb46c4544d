-- Up Migration
-- The submission queuer: lanes, and the batches that stand in them (docs/systems/lanes.md).
-- A batch of a lane has leader_id 0: no leader formed it, and none adopts, counts or sends it.
-- Statuses are numbers: workflows/planning/lanes/statuses.ts is the one list of them; from 10 on a submission is over.

create table queuer (                                -- one a partition: ring state, lease and rules of who is granted next
  id smallint primary key,
  state smallint not null default 0 check (state in (0, 1, 2)), wake_at timestamptz,   -- idle, working, waiting until wake_at: as a leader
  holder text, run_started_at timestamptz,           -- the workflow run; a later run raises the epoch
  epoch bigint not null default 0, turn bigint not null default 0, answer jsonb,
  acquired_at timestamptz, expires_at timestamptz,
  slots int not null default 16 check (slots between 1 and 1000),   -- submitters
  strategy smallint not null default 1 check (strategy between 0 and 3), depth int not null default 3 check (depth > 0),
  round bigint not null default 0,                   -- the clock of lane_state.served
  grants bigint not null default 0,
  paused_at timestamptz, pause_reason text,
  check ((state = 2) = (wake_at is not null)), check (state = 0 or expires_at is not null)) with (fillfactor = 50);
insert into queuer (id) values (0);

create table submitter (                             -- live submission activities of a queuer, and the slots that they hold
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
  kind smallint not null check (kind in (0, 1)),     -- guaranteed: the downstream keeps the order
  approach smallint not null check (approach between 0 and 2), on_invalid smallint not null check (on_invalid in (0, 1)),
  pending_limit int check (pending_limit > 0));

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
  halted_by bigint, halted_at timestamptz, halt_reason text, check ((halted_by is null) = (halted_at is null))) with (fillfactor = 50);
create index lane_ready on lane_state (queuer_id, served, lane_id) where ready and paused_at is null and halted_by is null;
create index lane_blocked on lane_state (blocked_by, queuer_id, served, lane_id) where blocked_by is not null;
create index lane_halted on lane_state (lane_id) where halted_by is not null;
create index lane_due on lane_state (queuer_id, due_at) where due_at is not null and not ready;

alter table target add column lane_id int references lane;           -- a target feeds one lane, for good
alter table target add constraint target_lane unique (id, lane_id);

create table lane_queue (                            -- ready tasks of an ordered handler: one order a lane, across its targets
  lane_id int not null, seq bigint not null, target_id int not null, ready_at timestamptz not null, bytes int not null, attempts smallint not null default 0,
  weight float8, key text, reads text[], writes text[], primary key (lane_id, seq))
  with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000, vacuum_truncate = off);
create unique index lane_queue_seq on lane_queue (seq);

create table submission (                            -- a batch in a lane
  batch_id bigint primary key references batch on delete cascade,
  lane_id int not null references lane, target_id int not null,
  seq bigint not null,                               -- its place in the lane: of its first task; parts of a batch stand within their batch's range
  status smallint not null default 0 check (status between 0 and 19),
  handler_id int not null references handler,
  submitter bigint,                                  -- of the last grant
  not_before timestamptz, granted_at timestamptz, changed_at timestamptz not null,
  look_ups smallint not null default 0,              -- of its unknown outcome, without a clear answer
  overdue smallint not null default 0,               -- deadlines that it passed while it was pending
  weight int not null check (weight > 0), reads text[] not null, writes text[] not null,
  foreign key (target_id, lane_id) references target (id, lane_id));   -- C4 by structure: a batch stands in the lane that its target feeds
create index batch_given on batch ((members[1])) where reason = 9;   -- a call that is repeated finds its batch
create unique index submission_open on submission (lane_id, seq) where status < 10;
create index submission_granted on submission (submitter) where status = 3;
create index submission_taken on submission (handler_id) where status between 2 and 5;   -- what takes of its handler's limits
create index submission_lane on submission (lane_id, batch_id);

create table dependency (                            -- only of batches that are not over
  batch_id bigint not null references submission on delete cascade, needs bigint not null references submission on delete cascade,
  primary key (batch_id, needs), check (batch_id <> needs));
create index dependency_needs on dependency (needs);

-- The state of the tasks of an open batch, by its status in its lane: workflows/planning/lanes/statuses.ts has the names.
create function lane_task_state(status smallint) returns smallint immutable language sql as
  $$ select case status when 0 then 1 when 1 then 0 when 2 then 3 when 6 then 3 else 2 end::smallint $$;

create or replace view task_state as
  select t.seq, t.id, t.target_id, coalesce(m.batch_id, o.batch_id) batch_id,
    coalesce(o.attempts, m.attempts + b.counted, q.attempts, d.attempts, l.attempts, 0)::smallint attempts,
    coalesce(o.state, case when b.state = 1 and b.leader_id = 0 then lane_task_state((select s.status from submission s where s.batch_id = b.id))
      when b.state = 1 and b.attempt > 0 then 2::smallint else b.state end, 0::smallint) state
  from task t left join outcome o using (seq) left join member m using (seq) left join batch b on b.id = m.batch_id
    left join queue q on q.target_id = t.target_id and q.priority = t.priority and q.seq = t.seq left join delayed d on d.seq = t.seq
    left join lane_queue l on l.seq = t.seq;
create or replace view state_count as
  select target_id, 0::smallint state, count(*) n from queue group by 1
  union all select target_id, 0::smallint, count(*) from delayed group by 1
  union all select target_id, 0::smallint, count(*) from lane_queue group by 1
  union all select b.target_id, case when b.state = 1 and b.leader_id = 0 then lane_task_state((select s.status from submission s where s.batch_id = b.id))
    when b.state = 1 and b.attempt > 0 then 2::smallint else b.state end, sum(b.n - b.n_left)::bigint from batch b where b.state <> 7 group by 1, 2
  union all select target_id, state, count(*) from outcome group by 1, 2;

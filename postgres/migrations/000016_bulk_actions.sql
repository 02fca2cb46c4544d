-- Up Migration

-- Bulk actions: what an operator does to all tasks that match a filter. A sweeper works one off chunk by chunk, each in
-- a transaction that changes the tasks and moves the cursor. A step that another process has made is not made again.
-- Tasks that were accepted, and batches that were formed, after the start are not looked at.
create table bulk_action (
  id uuid primary key,
  handler_id integer not null references handler (id),
  filter jsonb not null,
  action jsonb not null,
  state smallint not null default 0 /* counting */,
  step bigint not null default 0,
  -- Null: at the beginning.
  place jsonb,
  last_seq bigint not null,
  last_batch_id bigint not null,
  total bigint not null default 0,
  n_done bigint not null default 0,
  n_skipped bigint not null default 0,
  failures jsonb not null default '{}',
  tries integer not null default 0,
  error text,
  -- When its next step is made; null: never, it has ended.
  due_at timestamptz,
  who text not null,
  door text not null,
  origin text,
  created_at timestamptz not null,
  worked_from timestamptz,
  changed_at timestamptz not null,
  finished_at timestamptz,
  constraint bulk_action_state_check check (state between 0 /* counting */ and 3 /* stopped */),
  constraint bulk_action_due_check check ((state in (0 /* counting */, 1 /* working */)) = (due_at is not null)),
  constraint bulk_action_finished_check check ((due_at is null) = (finished_at is not null)),
  constraint bulk_action_counts_check check (least(total, n_done, n_skipped) >= 0)
) with (fillfactor = 50);
create index bulk_action_due on bulk_action (due_at) where due_at is not null;
create index bulk_action_created on bulk_action (created_at, id);
comment on column bulk_action.state is '0 counting, 1 working, 2 done, 3 stopped';

-- When a task expires that still waits then, by its seq: few tasks have it. A row is removed once its time has passed
-- and the task has ended.
create table expiry (
  seq bigint primary key,
  at timestamptz not null
);
create index expiry_at on expiry (at);

-- Down Migration

drop table expiry;
drop table bulk_action;

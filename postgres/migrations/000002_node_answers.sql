-- Up Migration

-- What a node answers to roll calls of executions: the topics it subscribes to, and the last sign of life of the thread
-- that would run the work. Its other thread, which writes `seen_at`, goes on while that one hangs.

alter table node
  add column topics text[] not null default '{}',
  add column answered_at timestamptz;                -- null: a version that does not write it

-- Down Migration

alter table node
  drop column topics,
  drop column answered_at;

-- Up Migration

-- What callers call their tasks: only tasks with tags or metadata have a row, and all others cost nothing.
create table task_label (
  seq bigint primary key,
  handler_id integer not null,
  tags text[] not null,
  -- Carried only; encoded by the payload codec, if there is one.
  metadata json,
  constraint task_label_tags_check check (cardinality(tags) <= 10)
);

-- Finds tasks by tag, newest first: a row per task and tag.
create table task_tag (
  tag text not null,
  handler_id integer not null,
  seq bigint not null,
  primary key (tag, handler_id, seq),
  constraint task_tag_tag_check check (octet_length(tag) between 1 and 100)
);

-- When the task expires, where `at`, the time of the next look, was put off since. Null: at `at`.
alter table expiry add column expires_at timestamptz;

-- Down Migration

alter table expiry drop column expires_at;
drop table task_tag;
drop table task_label;

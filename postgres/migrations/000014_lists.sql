-- Up Migration

-- Why a task waits for another attempt, and since when: lists of errors say so.
alter table delayed add column error text, add column failed_at timestamptz;
create index if not exists delayed_failed on delayed (failed_at, seq) where error is not null;

-- Batches that wait after a failed call, or are parked: few among those that are open.
create index if not exists batch_troubled on batch (id) where state in (1 /* open */, 3 /* unknown */) and error is not null;

-- Callbacks that were tried and not delivered.
create index if not exists notification_undelivered on notification (id) where error is not null;

-- What calls and tasks came to, per handler and minute: statistics, which the processes add to every few seconds.
create table outcome_minute (
  handler_id integer not null references handler (id),
  minute timestamptz not null,
  calls bigint[] not null,
  ends bigint[] not null,
  latency bigint[] not null,
  sizes bigint[] not null,
  reasons bigint[] not null,
  tasks bigint not null,
  call_ms double precision not null,
  primary key (minute, handler_id)
) with (fillfactor = 50);

create function add_counts(a bigint[], b bigint[]) returns bigint[] language sql immutable parallel safe as $$
  select array_agg(coalesce(u.a, 0) + coalesce(u.b, 0) order by u.i) from unnest(a, b) with ordinality u (a, b, i) $$;

-- Down Migration

drop table outcome_minute;
drop function add_counts(bigint[], bigint[]);
drop index notification_undelivered;
drop index batch_troubled;
drop index delayed_failed;
alter table delayed drop column error, drop column failed_at;

-- Up Migration
-- Batches that a downstream accepted and that were given up: it is asked to stop them, once at least. A row is written in the transaction
-- that gives the batch up; the handler's monitor takes it, calls the handler's `cancel`, and keeps the answer here.

create table cancellation (
  id bigint generated always as identity primary key,
  batch_id bigint not null, handler_id int not null references handler, reference text not null,
  why smallint not null check (why between 0 and 2),                   -- 0 asked for by a caller, 1 past its deadline, 2 decided by hand
  state smallint not null default 0 check (state between 0 and 5),     -- 0 requested, 1 confirmed, 2 refused, 3 late, 4 unsupported, 5 withdrawn
  tries int not null default 0,                                        -- calls begun; fences one whose lease has passed
  next_at timestamptz,                                                 -- next call, or the end of the lease of the one under way
  error text, requested_at timestamptz not null, ended_at timestamptz,
  check ((state = 0) = (next_at is not null)), check ((state = 0) = (ended_at is null)));
create unique index cancellation_batch on cancellation (batch_id, md5(reference));
create index cancellation_due on cancellation (handler_id, next_at) where state = 0;

alter table handler add column cancels bool not null default false;    -- it can ask its downstream to stop an accepted batch

-- Where handlers threw: one row per handler and distinct stack, however many batches it concerns; a batch names the one of its last call.
create table fault (
  id int generated always as identity primary key,
  handler_id int not null references handler, stack text not null check (length(stack) <= 2000), at timestamptz not null);
create unique index fault_stack on fault (handler_id, md5(stack));
alter table batch add column fault_id int, add column fault_attempt smallint;   -- of the attempt that threw; null: none did

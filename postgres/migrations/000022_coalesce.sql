-- Up Migration

-- Of waiting tasks with one key only the last is sent (coalesceBy).
alter table handler add column coalesces boolean not null default false;

-- The head of a target's queue as a claim sees it that coalesces: at most so many tasks, of which those go that were
-- submitted last of their key, if it has the prefix; since: when the first of the key became ready.
create function coalesced_head(of_target int, most int, prefix text) returns table (
  priority smallint,
  seq bigint,
  key text,
  bytes int,
  weight float8,
  ready_at timestamptz,
  goes boolean,
  since timestamptz) language plpgsql stable as $$
#variable_conflict use_column
begin
  return query
  select q.priority, q.seq, q.key, q.bytes, q.weight, q.ready_at, q.seq = max(q.seq) over one_key,
    min(q.ready_at) over one_key
  from (
    select q.*, case when starts_with(q.key, prefix) then q.key else q.seq::text end as own_key
    from queue q
    where q.target_id = of_target
    order by q.priority, q.seq limit most) q
  window one_key as (partition by q.own_key);
end $$;

-- When the waiting tasks of such a target are due, as the statement lower-due says it of others; null: none waits. A
-- function, so that that statement, which serves all handlers, is not planned the longer for this.
create function coalesced_due(of_target int, max_items int, heaviest float8, most int, prefix text)
returns timestamptz language plpgsql stable as $$
declare
  w record;
begin
  select count(*) as waiting, count(*) filter (where e.goes) as n, sum(e.bytes) filter (where e.goes) as bytes,
    sum(coalesce(e.weight, 1)) filter (where e.goes) as weight, min(e.ready_at) as oldest, max(e.ready_at) as newest,
    min(e.seq) as first_seq
  into w
  from coalesced_head(of_target, most, prefix) e;
  return (
    select case when w.waiting = 0 then null
      when w.waiting >= most or w.n >= coalesced_due.max_items or w.bytes + h.overhead_bytes >= h.max_bytes
        or w.weight >= heaviest or w.first_seq <= t.flush_seq then clock()
      else least(
        w.oldest + coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) * interval '1 ms',
        case when w.n >= coalesce((t.overrides->>'minItems')::int, h.min_items) then w.newest + coalesce(
          (t.overrides->>'quietPeriodMs')::bigint, h.quiet_ms) * interval '1 ms' end) end
    from target t join handler h on h.id = t.handler_id
    where t.id = of_target);
end $$;

-- Refuses what the client library refuses, in the same words. Target, weight and key, which it computes by the
-- handler's code, are the caller's here; the payload is checked by that code when a worker reads it.
create or replace function check_task(
  h handler,
  payload jsonb,
  target text,
  not_before timestamptz,
  priority int,
  weight float8,
  bytes int,
  distinct_key text) returns void language plpgsql as $$
declare
  size constant bigint := octet_length(payload::text);
  heaviest constant float8 := least(h.max_weight, h.weight_per_target, h.weight_per_handler);
begin
  if h.max_payload_bytes is null then
    perform refuse_task('INVALID_HANDLER', format('handler: "%s" was registered by an older version', h.name),
      'Start a worker of this version with this handler.', '55000');
  elsif h.ordered then
    perform refuse_task('INVALID_HANDLER', format('handler: expected one without lanes, got "%s"', h.name),
      'Submit to a lane by the client library or the HTTP API.', '0A000');
  elsif payload is null then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected JSON, got null of SQL',
      'Give the payload; null of JSON is ''null''::jsonb.');
  elsif size > h.max_payload_bytes then
    perform refuse_task('PAYLOAD_TOO_LARGE',
      format('payload: expected at most %s bytes of JSON, got %s', h.max_payload_bytes, size),
      'Store it elsewhere and submit a reference, or raise maxPayloadBytes.', '54000');
  elsif size > 100 and jsonb_path_exists(payload,
      'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected at most 100 levels of arrays and objects, got more',
      'Flatten it, or submit the deep part as text.', '54000');
  elsif jsonb_typeof(payload) = 'object' and payload ? '$codec' then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected no field "$codec", got one',
      'Rename it: that is the form of encoded values.');
  elsif priority is null or priority not between -32768 and 32767 then
    perform refuse_task('INVALID_PRIORITY',
      format('priority: expected a whole number of -32768..32767, got %s', coalesce(priority::text, 'null')),
      'Lower numbers go first; leave it out for 0.');
  elsif not_before not between '1970-01-01 00:00Z' and '9999-12-31 00:00Z' then
    perform refuse_task('INVALID_TIME', format('not_before: expected a time from 1970 to 9999, got %s', not_before),
      'Leave it out for at once.');
  elsif bytes < 0 then
    perform refuse_task('INVALID_PAYLOAD', format('bytes: expected a number of at least 0, got %s', bytes),
      'Leave it out to count those of the payload.');
  elsif bytes::bigint + h.overhead_bytes > h.max_bytes then
    perform refuse_task('TASK_TOO_LARGE',
      format('payload: expected a task that fits into one call of %s bytes, got %s + %s overhead', h.max_bytes, bytes,
        h.overhead_bytes), 'Make it smaller, or raise the handler''s limits.maxBytes.', '54000');
  elsif weight is null or not (weight >= 0 and weight < 'infinity') then
    perform refuse_task('INVALID_PAYLOAD',
      format('weight: expected a number of at least 0, got %s', coalesce(weight::text, 'null')),
      'Leave it out for 1.');
  elsif weight > heaviest then
    perform refuse_task('TASK_TOO_HEAVY', format('weight: expected at most %s, got %s', heaviest, weight),
      'Make it lighter, or raise the handler''s limits.', '54000');
  elsif distinct_key is not null and not (h.keyed or h.coalesces) then
    perform refuse_task('INVALID_KEY',
      format('distinct_key: expected none, since handler "%s" has no distinctBy, got one', h.name), 'Leave it out.');
  end if;
  if h.keyed or h.coalesces then
    perform check_text('distinct_key', 'INVALID_KEY', distinct_key, 512);
  end if;
end $$;

-- Accepts a task in the caller's transaction: it exists if and only if that commits. True: it is new; false: it was
-- accepted before with the same payload. Runs with the rights of its owner: who may call it needs no right on a table.
-- After the commit, a worker that listens rings the target; if none does, the sweeper finds it within 5 s.
create or replace function submit(
  handler text,
  id text,
  payload jsonb,
  target text,
  not_before timestamptz default null,
  priority int default 0,
  weight float8 default 1,
  bytes int default null,
  distinct_key text default null) returns boolean language plpgsql security definer as $$
#variable_conflict use_column
declare
  h handler%rowtype;
  size constant int := coalesce(submit.bytes, octet_length(submit.payload::text));
  found_target int;
  stored bigint;
  stored_key text;
begin
  perform check_text('handler', 'INVALID_ARGUMENT', submit.handler, 64);
  perform check_text('id', 'INVALID_ID', submit.id, 256);
  perform check_text('target', 'INVALID_TARGET', submit.target, 512);
  select * into h from handler where name = submit.handler;
  if not found then
    perform refuse_task('UNKNOWN_HANDLER', format('handler: expected one that is registered, got "%s"', submit.handler),
      'Correct the name, or start a worker that has this handler.', '42704');
  end if;
  perform check_task(h, submit.payload, submit.target, submit.not_before, submit.priority, submit.weight, size,
    submit.distinct_key);
  if not is_new_task(submit.id, h, submit.payload) then
    return false;
  end if;
  -- COALESCE_PREFIX: keys of distinctBy, which the handler may have had before, stand in the same column.
  stored_key := case when h.coalesces then 'coalesce:' else '' end || submit.distinct_key;
  found_target := target_of(h, submit.target);
  perform check_backlog(h, found_target, submit.target);
  insert into task (seq, created_at, target_id, bytes, priority, weight, id, key, payload, version)
  values (nextval('submit_seq') * 16384, clock(), found_target, size, submit.priority, nullif(submit.weight, 1),
    submit.id, stored_key, submit.payload::text::json, 0 /* not checked by the handler's code */)
  on conflict (id) do nothing
  returning seq into stored;
  if stored is null then
    -- Another transaction was faster, and has committed meanwhile.
    return is_new_task(submit.id, h, submit.payload);
  end if;
  if submit.not_before > clock() then
    insert into delayed (target_id, priority, seq, not_before, bytes, weight, key)
    values (found_target, submit.priority, stored, submit.not_before, size, nullif(submit.weight, 1), stored_key);
  else
    insert into queue (target_id, priority, seq, ready_at, bytes, weight, key)
    values (found_target, submit.priority, stored, clock(), size, nullif(submit.weight, 1), stored_key);
  end if;
  -- Equal ones of a transaction are one.
  perform pg_notify('muster_submitted', current_schema() || ' ' || found_target);
  return true;
end $$;

-- Its own tables only, whatever its caller's path or temporary tables are; plans as the store's sessions have them.
do $$ begin
  execute format('alter function submit set search_path = %I, pg_temp', current_schema());
  execute 'alter function submit set enable_seqscan = off';
end $$;

-- Down Migration

-- Refuses what the client library refuses, in the same words. Target, weight and key, which it computes by the
-- handler's code, are the caller's here; the payload is checked by that code when a worker reads it.
create or replace function check_task(
  h handler,
  payload jsonb,
  target text,
  not_before timestamptz,
  priority int,
  weight float8,
  bytes int,
  distinct_key text) returns void language plpgsql as $$
declare
  size constant bigint := octet_length(payload::text);
  heaviest constant float8 := least(h.max_weight, h.weight_per_target, h.weight_per_handler);
begin
  if h.max_payload_bytes is null then
    perform refuse_task('INVALID_HANDLER', format('handler: "%s" was registered by an older version', h.name),
      'Start a worker of this version with this handler.', '55000');
  elsif h.ordered then
    perform refuse_task('INVALID_HANDLER', format('handler: expected one without lanes, got "%s"', h.name),
      'Submit to a lane by the client library or the HTTP API.', '0A000');
  elsif payload is null then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected JSON, got null of SQL',
      'Give the payload; null of JSON is ''null''::jsonb.');
  elsif size > h.max_payload_bytes then
    perform refuse_task('PAYLOAD_TOO_LARGE',
      format('payload: expected at most %s bytes of JSON, got %s', h.max_payload_bytes, size),
      'Store it elsewhere and submit a reference, or raise maxPayloadBytes.', '54000');
  elsif size > 100 and jsonb_path_exists(payload,
      'strict $.**{100} ? (@.type() == "object" || @.type() == "array")') then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected at most 100 levels of arrays and objects, got more',
      'Flatten it, or submit the deep part as text.', '54000');
  elsif jsonb_typeof(payload) = 'object' and payload ? '$codec' then
    perform refuse_task('INVALID_PAYLOAD', 'payload: expected no field "$codec", got one',
      'Rename it: that is the form of encoded values.');
  elsif priority is null or priority not between -32768 and 32767 then
    perform refuse_task('INVALID_PRIORITY',
      format('priority: expected a whole number of -32768..32767, got %s', coalesce(priority::text, 'null')),
      'Lower numbers go first; leave it out for 0.');
  elsif not_before not between '1970-01-01 00:00Z' and '9999-12-31 00:00Z' then
    perform refuse_task('INVALID_TIME', format('not_before: expected a time from 1970 to 9999, got %s', not_before),
      'Leave it out for at once.');
  elsif bytes < 0 then
    perform refuse_task('INVALID_PAYLOAD', format('bytes: expected a number of at least 0, got %s', bytes),
      'Leave it out to count those of the payload.');
  elsif bytes::bigint + h.overhead_bytes > h.max_bytes then
    perform refuse_task('TASK_TOO_LARGE',
      format('payload: expected a task that fits into one call of %s bytes, got %s + %s overhead', h.max_bytes, bytes,
        h.overhead_bytes), 'Make it smaller, or raise the handler''s limits.maxBytes.', '54000');
  elsif weight is null or not (weight >= 0 and weight < 'infinity') then
    perform refuse_task('INVALID_PAYLOAD',
      format('weight: expected a number of at least 0, got %s', coalesce(weight::text, 'null')),
      'Leave it out for 1.');
  elsif weight > heaviest then
    perform refuse_task('TASK_TOO_HEAVY', format('weight: expected at most %s, got %s', heaviest, weight),
      'Make it lighter, or raise the handler''s limits.', '54000');
  elsif distinct_key is not null and not h.keyed then
    perform refuse_task('INVALID_KEY',
      format('distinct_key: expected none, since handler "%s" has no distinctBy, got one', h.name), 'Leave it out.');
  end if;
  if h.keyed then
    perform check_text('distinct_key', 'INVALID_KEY', distinct_key, 512);
  end if;
end $$;

-- Accepts a task in the caller's transaction: it exists if and only if that commits. True: it is new; false: it was
-- accepted before with the same payload. Runs with the rights of its owner: who may call it needs no right on a table.
-- After the commit, a worker that listens rings the target; if none does, the sweeper finds it within 5 s.
create or replace function submit(
  handler text,
  id text,
  payload jsonb,
  target text,
  not_before timestamptz default null,
  priority int default 0,
  weight float8 default 1,
  bytes int default null,
  distinct_key text default null) returns boolean language plpgsql security definer as $$
#variable_conflict use_column
declare
  h handler%rowtype;
  size constant int := coalesce(submit.bytes, octet_length(submit.payload::text));
  found_target int;
  stored bigint;
begin
  perform check_text('handler', 'INVALID_ARGUMENT', submit.handler, 64);
  perform check_text('id', 'INVALID_ID', submit.id, 256);
  perform check_text('target', 'INVALID_TARGET', submit.target, 512);
  select * into h from handler where name = submit.handler;
  if not found then
    perform refuse_task('UNKNOWN_HANDLER', format('handler: expected one that is registered, got "%s"', submit.handler),
      'Correct the name, or start a worker that has this handler.', '42704');
  end if;
  perform check_task(h, submit.payload, submit.target, submit.not_before, submit.priority, submit.weight, size,
    submit.distinct_key);
  if not is_new_task(submit.id, h, submit.payload) then
    return false;
  end if;
  found_target := target_of(h, submit.target);
  perform check_backlog(h, found_target, submit.target);
  insert into task (seq, created_at, target_id, bytes, priority, weight, id, key, payload, version)
  values (nextval('submit_seq') * 16384, clock(), found_target, size, submit.priority, nullif(submit.weight, 1),
    submit.id, submit.distinct_key, submit.payload::text::json, 0 /* not checked by the handler's code */)
  on conflict (id) do nothing
  returning seq into stored;
  if stored is null then
    -- Another transaction was faster, and has committed meanwhile.
    return is_new_task(submit.id, h, submit.payload);
  end if;
  if submit.not_before > clock() then
    insert into delayed (target_id, priority, seq, not_before, bytes, weight, key)
    values (found_target, submit.priority, stored, submit.not_before, size, nullif(submit.weight, 1), submit.distinct_key);
  else
    insert into queue (target_id, priority, seq, ready_at, bytes, weight, key)
    values (found_target, submit.priority, stored, clock(), size, nullif(submit.weight, 1), submit.distinct_key);
  end if;
  -- Equal ones of a transaction are one.
  perform pg_notify('muster_submitted', current_schema() || ' ' || found_target);
  return true;
end $$;

-- Its own tables only, whatever its caller's path or temporary tables are; plans as the store's sessions have them.
do $$ begin
  execute format('alter function submit set search_path = %I, pg_temp', current_schema());
  execute 'alter function submit set enable_seqscan = off';
end $$;

drop function coalesced_due;
drop function coalesced_head;
alter table handler drop column coalesces;

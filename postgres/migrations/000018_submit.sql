-- Up Migration

-- What a submit by SQL must know of a handler. Null: it was registered by a version that did not write it down.
alter table handler add column max_payload_bytes integer;
-- Its tasks go through lanes.
alter table handler add column ordered boolean not null default false;

-- Which of n leaders leads a key: leaderIndex of workflows/planning/grouping/hash.ts, whose results are stored.
create function leader_index(key text, n int) returns int language plpgsql immutable strict parallel safe as $$
declare
  bytes bytea := convert_to(key, 'UTF8');
  low constant bigint := 4294967295;
  h bigint := 2166136261;
begin
  for i in 0 .. octet_length(bytes) - 1 loop
    h := ((h # get_byte(bytes, i)) * 16777619) & low;
  end loop;
  h := h # (h >> 16);
  h := ((h & 65535) * 2246822507 + ((((h >> 16) * 2246822507) & 65535) << 16)) & low;
  h := h # (h >> 13);
  h := ((h & 65535) * 3266489909 + ((((h >> 16) * 3266489909) & 65535) << 16)) & low;
  return (h # (h >> 16)) % n;
end $$;

-- Raises the error of a task that is refused: the code that the client library has for it is its detail.
create function refuse_task(code text, message text, remedy text, state text default '22023') returns void language plpgsql as $$
begin
  raise exception using errcode = state, message = 'Cannot submit the task: ' || message || '.', hint = remedy, detail = code;
end $$;

create function check_text(field text, code text, value text, most int) returns void language plpgsql as $$
begin
  if value is null then
    perform refuse_task(code, format('%s: expected 1-%s bytes of text, got null', field, most), format('Give %s.', field));
  elsif octet_length(value) not between 1 and most then
    perform refuse_task(code, format('%s: expected 1-%s bytes of text, got %s', field, most, octet_length(value)),
      format('Use 1 to %s bytes of text.', most));
  end if;
end $$;

-- Refuses what the client library refuses, in the same words. Target, weight and key, which it computes by the
-- handler's code, are the caller's here; the payload is checked by that code when a worker reads it.
create function check_task(
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

-- Back pressure, as maxQueued asks for: what this transaction has submitted counts.
create function check_backlog(h handler, of_target int, target text) returns void language plpgsql as $$
declare
  n bigint;
begin
  if h.queued_per_handler is not null then
    select count(*) into n
    from (
      select from target t cross join lateral (
        select from queue q
        where q.target_id = t.id
        union all select from delayed d
        where d.target_id = t.id
        union all select from held x
        where x.target_id = t.id) w
      where t.handler_id = h.id limit h.queued_per_handler) w;
    if n >= h.queued_per_handler then
      perform refuse_task('BACKLOGGED', format('%s tasks of handler "%s" are waiting, expected fewer than %s', n, h.name,
        h.queued_per_handler), 'Submit the same id again later.', '53400');
    end if;
  end if;
  if h.queued_per_target is not null then
    select count(*) into n
    from (
      select from queue q
      where q.target_id = of_target
      union all select from delayed d
      where d.target_id = of_target
      union all select from held x
      where x.target_id = of_target limit h.queued_per_target) w;
    if n >= h.queued_per_target then
      perform refuse_task('BACKLOGGED', format('%s tasks of target "%s" of handler "%s" are waiting, expected fewer than %s',
        n, target, h.name, h.queued_per_target), 'Submit the same id again later.', '53400');
    end if;
  end if;
end $$;

-- Returns the target, which is registered with its leader if it is new: both exist if and only if the caller commits.
create function target_of(h handler, of_key text) returns int language plpgsql as $$
declare
  leads constant text := case when h.leaders = 0 then of_key else leader_index(of_key, h.leaders)::text end;
  found_id int;
begin
  select id into found_id from target where handler_id = h.id and key = of_key;
  if found then
    return found_id;
  end if;
  insert into leader (handler_id, name) values (h.id, leads) on conflict do nothing;
  insert into target (handler_id, key, leader_id)
  select h.id, of_key, id
  from leader
  where handler_id = h.id and name = leads
  on conflict do nothing;
  select id into found_id from target where handler_id = h.id and key = of_key;
  return found_id;
end $$;

-- False: there is such a task already, with the same content. Raises an error if it has another one.
create function is_new_task(of_id text, h handler, of_payload jsonb) returns boolean language plpgsql as $$
declare
  other record;
begin
  select h2.name as handler, k.payload
  into other
  from task k join target t on t.id = k.target_id join handler h2 on h2.id = t.handler_id
  where k.id = of_id;
  if not found then
    return true;
  elsif other.handler <> h.name then
    perform refuse_task('ID_CONFLICT', format('id: expected an unused one, but a task of handler "%s" has "%s"', other.handler,
      of_id), 'Choose another id.', '23505');
  elsif starts_with(other.payload::text, '{"$codec":') then
    perform refuse_task('ID_CONFLICT', format('id: expected an unused one, but a task with an encoded payload has "%s"', of_id),
      'Choose another id, or repeat it by the client that submitted it.', '23505');
  elsif other.payload::jsonb <> of_payload then
    perform refuse_task('ID_CONFLICT', format('id: expected an unused one, but a task with another payload has "%s"', of_id),
      'Choose another id. Repeating the same content is harmless.', '23505');
  end if;
  return false;
end $$;

-- Accepts a task in the caller's transaction: it exists if and only if that commits. True: it is new; false: it was
-- accepted before with the same payload. Runs with the rights of its owner: who may call it needs no right on a table.
-- After the commit, a worker that listens rings the target; if none does, the sweeper finds it within 5 s.
create function submit(
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
revoke execute on function submit from public;

-- Down Migration

drop function submit;
drop function is_new_task;
drop function target_of;
drop function check_backlog;
drop function check_task;
drop function check_text;
drop function refuse_task;
drop function leader_index;
alter table handler drop column ordered;
alter table handler drop column max_payload_bytes;

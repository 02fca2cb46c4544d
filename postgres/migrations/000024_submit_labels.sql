-- Up Migration

create function check_time(field text, value timestamptz, otherwise text) returns void language plpgsql as $$
begin
  if value not between '1970-01-01 00:00Z' and '9999-12-31 00:00Z' then
    perform refuse_task('INVALID_TIME', format('%s: expected a time from 1970 to 9999, got %s', field, value),
      format('Leave it out for %s.', otherwise));
  end if;
end $$;

-- Shows a refused value in an error message, cut as the client library cuts it.
create function shown(value jsonb) returns text language sql immutable as $$
  select case when length(q.text) > 80 then left(q.text, 80) || '...' else q.text end
  from (select coalesce(value::text, 'null') as text) q
$$;

-- Refuses tags as the client library does: TAGS_MAX, TAG_BYTES_MAX.
create function check_tags(tags text[]) returns void language plpgsql as $$
declare
  wrong record;
begin
  if cardinality(tags) > 10 then
    perform refuse_task('INVALID_TAG', format('tags: expected an array of at most 10 texts, got %s', cardinality(tags)),
      'Put the others into metadata.');
  end if;
  select u.tag, u.place - 1 as place
  into wrong
  from unnest(tags) with ordinality u (tag, place)
  where u.tag is null or octet_length(u.tag) not between 1 and 100
  order by u.place limit 1;
  if found then
    perform refuse_task('INVALID_TAG',
      format('tags.%s: expected 1-100 bytes of well-formed text without NUL, got %s', wrong.place,
        shown(to_jsonb(wrong.tag))),
      'Use 1 to 100 bytes of text.');
  end if;
end $$;

-- The text of metadata as the client library stores it, without blanks: a tenant's quota counts its bytes.
create function metadata_text(metadata jsonb) returns text language sql immutable as $$
  select '{' || string_agg(to_json(m.key)::text || ':' || to_json(m.value)::text, ',') || '}'
  from jsonb_each_text(metadata) m
$$;

-- Refuses metadata as the client library does: TASK_METADATA_BYTES_MAX. Null of JSON is none.
create function check_metadata(metadata jsonb) returns void language plpgsql as $$
declare
  wrong record;
begin
  if metadata is null or metadata = 'null' then
    return;
  elsif jsonb_typeof(metadata) <> 'object' then
    perform refuse_task('INVALID_METADATA',
      format('metadata: expected an object of texts, got %s', shown(metadata)), 'Give each text a name.');
  end if;
  select m.key, m.value into wrong from jsonb_each(metadata) m where jsonb_typeof(m.value) <> 'string' limit 1;
  if found then
    perform refuse_task('INVALID_METADATA',
      format('metadata.%s: expected text, got %s', left(wrong.key, 80), shown(wrong.value)), 'Write it as text.');
  elsif octet_length(metadata_text(metadata)) > 4096 then
    perform refuse_task('INVALID_METADATA', format('metadata: expected at most 4096 bytes of JSON, got %s',
      octet_length(metadata_text(metadata))), 'Put what is longer into the payload.', '54000');
  elsif starts_with(metadata_text(metadata), '{"$codec":') then
    perform refuse_task('INVALID_METADATA',
      'metadata: expected no "$codec" as the first field: that is the form of encoded values', 'Rename it.');
  end if;
end $$;

-- Writes down the labels of a task, each tag once; a task without any has no row.
create function label_task(of_seq bigint, of_handler int, tags text[], metadata jsonb)
returns void language plpgsql as $$
declare
  named constant text[] := array(
    select u.tag
    from unnest(tags) with ordinality u (tag, place)
    group by u.tag
    order by min(u.place));
  carried constant text := case when jsonb_typeof(metadata) = 'object' then metadata_text(metadata) end;
begin
  if cardinality(named) > 0 or carried is not null then
    insert into task_label (seq, handler_id, tags, metadata) values (of_seq, of_handler, named, carried::json);
    insert into task_tag (tag, handler_id, seq) select u.tag, of_handler, of_seq from unnest(named) u (tag);
  end if;
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
  distinct_key text default null,
  tags text[] default null,
  metadata jsonb default null,
  expires_at timestamptz default null) returns boolean language plpgsql security definer as $$
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
  perform check_time('expires_at', submit.expires_at, 'never');
  perform check_tags(submit.tags);
  perform check_metadata(submit.metadata);
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
  if submit.expires_at is not null then
    insert into expiry (seq, at) values (stored, submit.expires_at);
  end if;
  perform label_task(stored, h.id, submit.tags, submit.metadata);
  -- Equal ones of a transaction are one.
  perform pg_notify('muster_submitted', current_schema() || ' ' || found_target);
  return true;
end $$;

-- Who may call it keeps that right: `drop function` takes the grants along.
do $$
declare
  was_called constant regprocedure := (
    select oid
    from pg_proc
    where proname = 'submit' and pronamespace = current_schema()::regnamespace and pronargs = 9);
  now_called constant regprocedure := (
    select oid
    from pg_proc
    where proname = 'submit' and pronamespace = current_schema()::regnamespace and pronargs = 12);
  held record;
begin
  execute format('revoke execute on function %s from public', now_called);
  for held in
    select case when a.grantee = 0 then 'public' else quote_ident(r.rolname) end as grantee,
      case when a.is_grantable then ' with grant option' else '' end as option
    from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      left join pg_roles r on r.oid = a.grantee
    where p.oid = was_called and a.grantee <> p.proowner
  loop
    execute format('grant execute on function %s to %s%s', now_called, held.grantee, held.option);
  end loop;
  execute format('drop function %s', was_called);
  -- Its own tables only, whatever its caller's path or temporary tables are; plans as the store's sessions have them.
  execute format('alter function %s set search_path = %I, pg_temp', now_called, current_schema());
  execute format('alter function %s set enable_seqscan = off', now_called);
end $$;

-- Down Migration

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

-- Who may call it keeps that right: `drop function` takes the grants along.
do $$
declare
  was_called constant regprocedure := (
    select oid
    from pg_proc
    where proname = 'submit' and pronamespace = current_schema()::regnamespace and pronargs = 12);
  now_called constant regprocedure := (
    select oid
    from pg_proc
    where proname = 'submit' and pronamespace = current_schema()::regnamespace and pronargs = 9);
  held record;
begin
  execute format('revoke execute on function %s from public', now_called);
  for held in
    select case when a.grantee = 0 then 'public' else quote_ident(r.rolname) end as grantee,
      case when a.is_grantable then ' with grant option' else '' end as option
    from pg_proc p cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      left join pg_roles r on r.oid = a.grantee
    where p.oid = was_called and a.grantee <> p.proowner
  loop
    execute format('grant execute on function %s to %s%s', now_called, held.grantee, held.option);
  end loop;
  execute format('drop function %s', was_called);
  -- Its own tables only, whatever its caller's path or temporary tables are; plans as the store's sessions have them.
  execute format('alter function %s set search_path = %I, pg_temp', now_called, current_schema());
  execute format('alter function %s set enable_seqscan = off', now_called);
end $$;

drop function label_task;
drop function check_metadata;
drop function metadata_text;
drop function check_tags;
drop function shown;
drop function check_time;

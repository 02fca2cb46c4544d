-- Up Migration

-- Notes which of these tasks have ended, where others wait for them by now; returns how many. The others end only after
-- this transaction, and see what waits for them. Locks in the order of a cancellation: targets, lanes, batches; each
-- statement sees what was committed before it. states: how those ended that may have been deleted; null: as they are.
create function note_ended(seqs bigint[], states smallint[]) returns bigint language plpgsql as $$
declare
  targets int[] := '{}';
  lanes int[] := '{}';
  more_targets int[];
  more_lanes int[];
  seen bigint[];
  locked bigint[];
  n bigint;
begin
  -- One that had ended may have been redriven while the others were locked.
  loop
    select coalesce(array_agg(distinct s.target_id) filter (where t.lane_id is null), '{}'),
      coalesce(array_agg(distinct t.lane_id) filter (where t.lane_id is not null), '{}')
    into more_targets, more_lanes
    from task_state s join target t on t.id = s.target_id
    where s.seq = any(seqs) and s.state < 4 /* not ended */;
    exit when more_targets <@ targets and more_lanes <@ lanes;
    targets := targets || more_targets;
    lanes := lanes || more_lanes;
    perform from target where id = any(targets) order by id for share;
    perform from lane_state where lane_id = any(lanes) order by lane_id for share;
    perform from held where seq = any(seqs) order by seq for share;
    -- A batch may have been split before it was locked.
    seen := null;
    locked := null;
    loop
      seen := locked;
      locked := array(
        select b.id
        from batch b
        where b.id = any(array(select m.batch_id from member m where m.seq = any(seqs)))
        order by b.id for share);
      exit when locked = seen;
    end loop;
  end loop;
  insert into ended_dependency (seq, state)
  select u.seq, coalesce(s.state, u.state)
  from unnest(seqs, states) u (seq, state) left join task_state s on s.seq = u.seq
  where coalesce(s.state, u.state) >= 4 /* ended */;
  get diagnostics n = row_count;
  if current_setting('transaction_isolation') in ('repeatable read', 'serializable') then
    perform expect_unmoved(seqs);
  end if;
  return n;
end $$;

-- Raises a serialization failure (40001) if one of these tasks was moved after this transaction's snapshot: in
-- repeatable read a lock on what has not changed itself, such as a target, does not tell. With the rights of its owner,
-- since a submitter may not lock what it may not write.
create function expect_unmoved(seqs bigint[]) returns void language plpgsql security definer as $$
begin
  perform
  from task k join queue q on (q.target_id, q.priority, q.seq) = (k.target_id, k.priority, k.seq)
  where k.seq = any(seqs) for share of q;
  perform from delayed where seq = any(seqs) for share;
  perform from lane_queue where seq = any(seqs) for share;
  perform from member where seq = any(seqs) for share;
end $$;

-- Refuses dependencies as the client library does: TASK_DEPENDENCIES_MAX, ON_DEPENDENCY_FAILURE.
create function check_depends_on(of_id text, depends_on text[], on_dependency_failure text)
returns void language plpgsql as $$
declare
  wrong record;
begin
  if octet_length(array_to_string(depends_on, '')) > 25600 /* 100 ids of 256 bytes */ then
    perform refuse_task('INVALID_DEPENDENCY', 'depends_on: expected ids of at most 256 bytes, got longer ones',
      'Give the ids of accepted tasks.');
  elsif on_dependency_failure not in ('fail', 'run') then
    perform refuse_task('INVALID_DEPENDENCY',
      format('on_dependency_failure: expected "fail" or "run", got %s', shown(to_jsonb(on_dependency_failure))),
      'Leave it out for "fail".');
  elsif cardinality(depends_on) > 100 then
    perform refuse_task('INVALID_DEPENDENCY',
      format('depends_on: expected at most 100 task ids, got %s', cardinality(depends_on)),
      'Let a task depend on those, and this one on it.');
  end if;
  select u.id, u.again
  into wrong
  from (
    select u.id, u.place, row_number() over (partition by u.id order by u.place) > 1 as again
    from unnest(depends_on) with ordinality u (id, place)) u
  where u.id is null or u.id in ('', of_id) or u.again
  order by u.place limit 1;
  if not found then
    return;
  end if;
  if wrong.id is null or wrong.id = '' then
    perform refuse_task('INVALID_DEPENDENCY',
      format('depends_on: expected task ids, got %s', shown(to_jsonb(wrong.id))), 'Leave it out.');
  elsif wrong.id = of_id then
    perform refuse_task('INVALID_DEPENDENCY', 'depends_on: expected other tasks, got the task itself', 'Leave it out.');
  else
    perform refuse_task('INVALID_DEPENDENCY',
      format('depends_on: expected each task id once, got %s twice', shown(to_jsonb(wrong.id))), 'Leave one out.');
  end if;
end $$;

-- Returns the tasks that have these ids, in their order, and keeps them from being deleted until the caller's end. They
-- were stored before, and so depend on no task that is stored later: there is no cycle.
create function needs_of(depends_on text[]) returns bigint[] language plpgsql as $$
declare
  missing record;
begin
  perform from task where id = any(depends_on) order by id for key share;
  select u.id, u.place - 1 as place
  into missing
  from unnest(depends_on) with ordinality u (id, place)
  where not exists (select from task k where k.id = u.id)
  order by u.place limit 1;
  if found then
    perform refuse_task('INVALID_DEPENDENCY',
      format('depends_on.%s: expected ids of accepted tasks, got %s, which does not exist, or was deleted after its '
        'retention period', missing.place, shown(to_jsonb(missing.id))), 'Submit that task before this one.', '23503');
  end if;
  return array(
    select k.seq
    from unnest(depends_on) with ordinality u (id, place) join task k on k.id = u.id
    order by u.place);
end $$;

-- Holds a stored task until the others have ended. True: some have, so that it may go already.
create function hold_task(
  of_seq bigint,
  of_target int,
  not_before timestamptz,
  needs bigint[],
  depends_on text[],
  run boolean) returns boolean language plpgsql as $$
begin
  insert into held (seq, target_id, not_before) values (of_seq, of_target, hold_task.not_before);
  insert into task_dependency (seq, needs, place, run, needs_id)
  select of_seq, u.needs, u.place - 1, hold_task.run, u.id
  from unnest(hold_task.needs, hold_task.depends_on) with ordinality u (needs, id, place);
  return note_ended(hold_task.needs, '{}') > 0;
end $$;

-- Length of a text in the units in which the client library counts it: two for a character beyond U+FFFF.
create function utf16_length(value text) returns int language sql immutable as $$
  select length(value) + length(regexp_replace(value, '[\u0001-\uffff]', '', 'g'))
$$;

-- Says whether this is a URL of http or https with a host in ASCII that is no Punycode: a part of what the client
-- library accepts by `URL.canParse`, which the database has not.
create function is_url(value text) returns boolean language sql immutable as $$
  select coalesce(utf16_length(value) <= 2000 and parts is not null and parts[1] !~* '(^|[.])xn--' and coalesce(parts[3], '0')::int <= 65535
    and (parts[1] !~ '(^|\.)\d+\.?$' or parts[1] ~ '^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$'), false)
  from regexp_match(value, '^https?://((?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*'
    '(?:[A-Za-z_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|\d{1,3})\.?)(:(\d{1,5}))?(?:[/?#].*)?$') parts
$$;

-- Refuses callbacks as the client library does: callbackFault, URL_MAX. Null of JSON is none. A workflow is refused,
-- too: who may only submit reaches no Temporal, and nothing would tell its workflows from those of other callers.
create function check_callback(callback jsonb) returns void language plpgsql as $$
begin
  if callback is null or callback = 'null' then
    return;
  elsif jsonb_typeof(callback) = 'object' and callback ? 'workflowId' then
    perform refuse_task('INVALID_CALLBACK',
      format('callback: expected {url: "https://..."}, since no workflow can be named by SQL, got %s', shown(callback)),
      'Submit the task by the client library, which may name one.');
  elsif not (jsonb_typeof(callback) = 'object' and callback - 'url' = '{}' and jsonb_typeof(callback->'url') = 'string'
    and is_url(callback->>'url')) then
    perform refuse_task('INVALID_CALLBACK',
      format('callback: expected {url: "https://..."}, got %s', shown(callback)),
      'Give a URL whose host is in ASCII.');
  end if;
end $$;

-- Returns the recipient at this address, which is registered if it is new. Others that name it do not wait for the
-- caller's end: it is written only where it was used long ago. The lock keeps it until the task is there to be seen.
create function recipient_of(callback jsonb) returns int language plpgsql as $$
declare
  found_id int;
  lately boolean;
begin
  if callback is null or callback = 'null' then
    return null;
  end if;
  loop
    select id, used_at > clock() - interval '30 minutes'
    into found_id, lately
    from recipient
    where address = callback for key share;
    -- For a sweeper of the version before. Who holds the row has renewed it; to wait for that would be for a commit.
    if found and not lately then
      update recipient set used_at = clock()
      where id = (select r.id from recipient r where r.id = found_id for no key update skip locked);
    end if;
    exit when found_id is not null;
    insert into recipient (kind, address, used_at)
    values ('webhook', callback, clock())
    on conflict do nothing;
  end loop;
  return found_id;
end $$;

-- Says whether nothing refers to a recipient: also nothing that was committed since the asking statement began.
create function is_unused_recipient(of_id int) returns boolean language plpgsql as $$
begin
  return not exists (select from task where recipient_id = of_id)
    and not exists (select from notification where recipient_id = of_id)
    and not exists (select from fanout where recipient_id = of_id);
end $$;

-- Accepts a task in the caller's transaction: it exists if and only if that commits. True: it is new; false: it was
-- accepted before with the same payload. Runs with the rights of its owner: who may call it needs no right on a table.
-- After the commit, a worker that listens rings the target, or releases the task if what it depends on has ended; if
-- none does, the sweeper finds it within 5 s.
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
  expires_at timestamptz default null,
  depends_on text[] default null,
  on_dependency_failure text default null,
  callback jsonb default null) returns boolean language plpgsql security definer as $$
#variable_conflict use_column
declare
  h handler%rowtype;
  size constant int := coalesce(submit.bytes, octet_length(submit.payload::text));
  found_target int;
  found_recipient int;
  needs bigint[] := '{}';
  stored bigint;
  stored_key text;
  -- What the listener is to do; null: nothing.
  told text := '';
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
  perform check_depends_on(submit.id, submit.depends_on, submit.on_dependency_failure);
  perform check_callback(submit.callback);
  if not is_new_task(submit.id, h, submit.payload) then
    return false;
  end if;
  -- COALESCE_PREFIX: keys of distinctBy, which the handler may have had before, stand in the same column.
  stored_key := case when h.coalesces then 'coalesce:' else '' end || submit.distinct_key;
  found_target := target_of(h, submit.target);
  perform check_backlog(h, found_target, submit.target);
  if cardinality(submit.depends_on) > 0 then
    needs := needs_of(submit.depends_on);
  end if;
  found_recipient := recipient_of(submit.callback);
  insert into task (seq, created_at, target_id, bytes, priority, recipient_id, weight, id, key, payload, version)
  values (nextval('submit_seq') * 16384, clock(), found_target, size, submit.priority, found_recipient,
    nullif(submit.weight, 1), submit.id, stored_key, submit.payload::text::json,
    0 /* not checked by the handler's code */)
  on conflict (id) do nothing
  returning seq into stored;
  if stored is null then
    -- Another transaction was faster, and has committed meanwhile.
    return is_new_task(submit.id, h, submit.payload);
  end if;
  if cardinality(needs) > 0 then
    told := case when hold_task(stored, found_target, submit.not_before, needs, submit.depends_on,
      submit.on_dependency_failure is not distinct from 'run') then ' ended' end;
  elsif submit.not_before > clock() then
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
  perform pg_notify('muster_submitted', current_schema() || ' ' || found_target || told) where told is not null;
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
    where proname = 'submit' and pronamespace = current_schema()::regnamespace and pronargs = 15);
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
  if (select count(distinct p.proowner) > 1 from pg_proc p where p.oid in (was_called, now_called)) then
    execute format('alter function %s owner to %s', now_called,
      (select p.proowner::regrole from pg_proc p where p.oid = was_called));
  end if;
  execute format('drop function %s', was_called);
  -- Its own tables only, whatever its caller's path or temporary tables are; plans as the store's sessions have them.
  execute format('alter function %s set search_path = %I, pg_temp', now_called, current_schema());
  execute format('alter function %s set enable_seqscan = off', now_called);
  -- The patterns in it are written for this.
  execute format('alter function %s set standard_conforming_strings = on', now_called);
  execute format('alter function expect_unmoved set search_path = %I, pg_temp', current_schema());
  execute 'alter function expect_unmoved set enable_seqscan = off';
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
    where proname = 'submit' and pronamespace = current_schema()::regnamespace and pronargs = 15);
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

drop function is_unused_recipient;
drop function recipient_of;
drop function check_callback;
drop function is_url;
drop function utf16_length;
drop function hold_task;
drop function needs_of;
drop function check_depends_on;
drop function expect_unmoved;
drop function note_ended;

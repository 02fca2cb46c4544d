-- The schema after all migrations, for review: written by `npm run schema:dump`, compared by test/postgres/schema.test.ts.
-- Never run by Muster; postgres/migrations is what runs.

-- Functions come by name: one of SQL may call a later one.
set check_function_bodies = off;

CREATE OR REPLACE FUNCTION add_counts(a bigint[], b bigint[])
 RETURNS bigint[]
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$
  select array_agg(coalesce(u.a, 0) + coalesce(u.b, 0) order by u.i) from unnest(a, b) with ordinality u (a, b, i) $function$
;

CREATE OR REPLACE FUNCTION check_callback(callback jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION check_depends_on(of_id text, depends_on text[], on_dependency_failure text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION check_metadata(metadata jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION check_tags(tags text[])
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION check_targets(looked_up_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE sql
AS $function$
  select case when pg_current_xact_id() is not null
    and looked_up_at >= server_time() - targets_serve() then true
  else refuse_targets(looked_up_at) end
$function$
;

CREATE OR REPLACE FUNCTION check_text(field text, code text, value text, most integer)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if value is null then
    perform refuse_task(code, format('%s: expected 1-%s bytes of text, got null', field, most), format('Give %s.', field));
  elsif octet_length(value) not between 1 and most then
    perform refuse_task(code, format('%s: expected 1-%s bytes of text, got %s', field, most, octet_length(value)),
      format('Use 1 to %s bytes of text.', most));
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION check_time(field text, value timestamp with time zone, otherwise text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  if value not between '1970-01-01 00:00Z' and '9999-12-31 00:00Z' then
    perform refuse_task('INVALID_TIME', format('%s: expected a time from 1970 to 9999, got %s', field, value),
      format('Leave it out for %s.', otherwise));
  end if;
end $function$
;

CREATE OR REPLACE FUNCTION clock()
 RETURNS timestamp with time zone
 LANGUAGE sql
 STABLE
AS $function$ select statement_timestamp() $function$
;

CREATE OR REPLACE FUNCTION coalesced_due(of_target integer, max_items integer, heaviest double precision, most integer, prefix text)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  w record;
begin
  select count(*) as waiting, count(*) filter (where e.goes) as n, sum(e.bytes) filter (where e.goes) as bytes,
    sum(coalesce(e.weight, 1)) filter (where e.goes) as weight, min(e.ready_at) as oldest, max(e.ready_at) as newest,
    min(e.seq) as first_seq
  into w
  from coalesced_head(of_target, most, prefix) e;
  return (
    -- So many wait that what goes is as full as it may become.
    select due_of(t.overrides, t.flush_seq, h.overhead_bytes, h.max_bytes, h.min_items, h.linger_ms, h.quiet_ms,
      case when w.waiting >= most then coalesced_due.max_items else w.n end, w.bytes, w.weight, w.oldest, w.newest,
      w.first_seq, coalesced_due.max_items, coalesced_due.heaviest, null)
    from target t join handler h on h.id = t.handler_id
    where t.id = of_target and w.waiting > 0);
end $function$
;

CREATE OR REPLACE FUNCTION coalesced_head(of_target integer, most integer, prefix text)
 RETURNS TABLE(priority smallint, seq bigint, key text, bytes integer, weight double precision, ready_at timestamp with time zone, goes boolean, since timestamp with time zone)
 LANGUAGE plpgsql
 STABLE
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION due_of(overrides jsonb, flush_seq bigint, overhead_bytes integer, most_bytes bigint, min_items integer, linger_ms bigint, quiet_ms bigint, n bigint, bytes bigint, weight double precision, oldest timestamp with time zone, newest timestamp with time zone, first_seq bigint, max_items integer, heaviest double precision, others timestamp with time zone)
 RETURNS timestamp with time zone
 LANGUAGE plpgsql
 STABLE
AS $function$
begin
  return case
    when n >= max_items or bytes + overhead_bytes >= most_bytes or weight >= heaviest
      or first_seq <= flush_seq then clock()
    else least(
      oldest + coalesce((overrides->>'lingerMs')::bigint, linger_ms) * interval '1 ms',
      case when n >= coalesce((overrides->>'minItems')::int, min_items) then newest + coalesce(
        (overrides->>'quietPeriodMs')::bigint, quiet_ms) * interval '1 ms' end,
      others) end;
end $function$
;

CREATE OR REPLACE FUNCTION expect_unmoved(seqs bigint[])
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'muster', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
begin
  perform
  from task k join queue q on (q.target_id, q.priority, q.seq) = (k.target_id, k.priority, k.seq)
  where k.seq = any(seqs) for share of q;
  perform from delayed where seq = any(seqs) for share;
  perform from lane_queue where seq = any(seqs) for share;
  perform from member where seq = any(seqs) for share;
end $function$
;

CREATE OR REPLACE FUNCTION fanout_event(public_id uuid, user_key text, state smallint, items bigint, at timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$ select jsonb_build_object('type', case state when 2 /* complete */ then 'fanout.completed' else 'fanout.expired' end, 'fanout', public_id, 'userKey', user_key,
       'items', items, 'endedAt', to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) $function$
;

CREATE OR REPLACE FUNCTION hold_task(of_seq bigint, of_target integer, not_before timestamp with time zone, needs bigint[], depends_on text[], run boolean)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  insert into held (seq, target_id, not_before) values (of_seq, of_target, hold_task.not_before);
  insert into task_dependency (seq, needs, place, run, needs_id)
  select of_seq, u.needs, u.place - 1, hold_task.run, u.id
  from unnest(hold_task.needs, hold_task.depends_on) with ordinality u (needs, id, place);
  return note_ended(hold_task.needs, '{}') > 0;
end $function$
;

CREATE OR REPLACE FUNCTION is_unused_recipient(of_id integer)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  return not exists (select from task where recipient_id = of_id)
    and not exists (select from notification where recipient_id = of_id)
    and not exists (select from fanout where recipient_id = of_id);
end $function$
;

CREATE OR REPLACE FUNCTION is_url(value text)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select coalesce(octet_length(value) <= 2000 and parts is not null and parts[1] !~* '(^|[.])xn--' and coalesce(parts[3], '0')::int <= 65535
    and (parts[1] !~ '(^|\.)\d+\.?$' or parts[1] ~ '^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$'), false)
  from regexp_match(value, '^https?://((?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*'
    '(?:[A-Za-z_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|\d{1,3})\.?)(:(\d{1,5}))?(?:[/?#].*)?$') parts
$function$
;

CREATE OR REPLACE FUNCTION keep_audit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if tg_op = 'DELETE' then
    if old.at > clock() - interval '365 days' then
      raise exception 'Cannot delete an entry of the audit within a year of it.';
    end if;
    return old;
  end if;
  if tg_op = 'TRUNCATE' then
    raise exception 'Cannot truncate the audit.';
  end if;
  if old.outcome is not null
    or (old.id, old.at, old.who, old.door, old.origin, old.verb, old.subject, old.detail)
      is distinct from (new.id, new.at, new.who, new.door, new.origin, new.verb, new.subject, new.detail) then
    raise exception 'Cannot change an entry of the audit.';
  end if;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION keep_leader()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'muster', 'pg_temp'
AS $function$
begin
  perform from leader where id = new.leader_id for key share;
  return case when found then new end;
end $function$
;

CREATE OR REPLACE FUNCTION label_task(of_seq bigint, of_handler integer, tags text[], metadata jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION lane_task_state(status smallint)
 RETURNS smallint
 LANGUAGE sql
 IMMUTABLE
AS $function$ 
    select case status when 0 /* unsubmitted */ then 1 /* batched */ when 1 /* delayed */ then 0 /* created */
      when 2 /* unknown */ then 3 /* unknown */ when 6 /* parked */ then 3 /* unknown */ else 2 /* in-progress */ end::smallint $function$
;

CREATE OR REPLACE FUNCTION leader_index(key text, n integer)
 RETURNS integer
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION lock_tasks(ids text[])
 RETURNS TABLE(id text, seq bigint)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'muster', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
begin
  return query
  select k.id, k.seq
  from task k
  where k.id = any(ids)
  order by k.id for key share;
end $function$
;

CREATE OR REPLACE FUNCTION metadata_text(metadata jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select '{' || string_agg(to_json(m.key)::text || ':' || to_json(m.value)::text, ',') || '}'
  from jsonb_each_text(metadata) m
$function$
;

CREATE OR REPLACE FUNCTION needs_of(depends_on text[])
 RETURNS bigint[]
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION note_batch_end()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from task_dependency where state is null) then
    insert into ended_dependency (seq, state)
    select m.seq, new.state
    from unnest(new.members) u (seq) join member m on m.seq = u.seq and m.batch_id = new.id
    where exists (select from task_dependency d where d.needs = u.seq and d.state is null);
    new.awaited := found;
  end if;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION note_ended(seqs bigint[], states smallint[])
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION note_outcomes()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  if exists (select from task_dependency where state is null) then
    insert into ended_dependency (seq, state)
    select n.seq, n.state
    from new_outcomes n
    where exists (select from task_dependency d where d.needs = n.seq and d.state is null);
  end if;
  return null;
end $function$
;

CREATE OR REPLACE FUNCTION ones(n integer)
 RETURNS bytea
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$ select decode(repeat('ff', n / 8) || case when n % 8 = 0 then '' else lpad(to_hex((1 << n % 8) - 1), 2, '0') end, 'hex') $function$
;

CREATE OR REPLACE FUNCTION own_audit()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'muster', 'pg_temp'
AS $function$
declare
  own constant text := 'database user ' || session_user;
begin
  if to_regrole('muster_submit') is null or not pg_has_role(to_regrole('muster_submit')::oid, 'member')
    or pg_has_role(to_regrole('muster_worker')::oid, 'member') then
    return new;
  end if;
  if tg_op = 'UPDATE' then
    if old.origin is distinct from own then
      raise exception 'Cannot conclude an entry of the audit that another user wrote.' using errcode = '42501';
    end if;
    return new;
  end if;
  if new.door in ('api', 'mcp') then
    raise exception 'Cannot write an entry of the audit as the API. Connect as a member of muster_worker.'
      using errcode = '42501';
  end if;
  new.origin := own;
  return new;
end $function$
;

CREATE OR REPLACE FUNCTION put_bits(bits bytea, indexes integer[], value integer)
 RETURNS bytea
 LANGUAGE plpgsql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
declare
  i int;
begin
  foreach i in array indexes loop
    bits := set_bit(bits, i, value);
  end loop;
  return bits;
end $function$
;

CREATE OR REPLACE FUNCTION recipient_of(callback jsonb)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION refuse(why text)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception '%', why using errcode = 'MU001';
end $function$
;

CREATE OR REPLACE FUNCTION refuse_targets(looked_up_at timestamp with time zone)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = 'MU002', message = format(
      'Cannot store tasks: expected targets that were looked up within %s hours, got a look at %s. Submit again.',
      extract(hour from targets_serve()), coalesce(looked_up_at::text, 'no time')),
    hint = 'Nothing was stored. A transaction that has been open for as long must end first.';
end $function$
;

CREATE OR REPLACE FUNCTION refuse_task(code text, message text, remedy text, state text DEFAULT '22023'::text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
begin
  raise exception using errcode = state, message = 'Cannot submit the task: ' || message || '.', hint = remedy, detail = code;
end $function$
;

CREATE OR REPLACE FUNCTION server_time()
 RETURNS timestamp with time zone
 LANGUAGE sql
AS $function$ select clock_timestamp() $function$
;

CREATE OR REPLACE FUNCTION shown(value jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
AS $function$
  select case when length(q.text) > 80 then left(q.text, 80) || '...' else q.text end
  from (select coalesce(value::text, 'null') as text) q
$function$
;

CREATE OR REPLACE FUNCTION targets_serve()
 RETURNS interval
 LANGUAGE sql
 IMMUTABLE
AS $function$ select interval '12 hours' $function$
;

CREATE OR REPLACE FUNCTION unmark_targets(of_handler integer, keys text[])
 RETURNS TABLE(id integer, key text, leader_id integer)
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'muster', 'pg_temp'
 SET enable_seqscan TO 'off'
AS $function$
#variable_conflict use_column
begin
  return query
  with marked as materialized (
    select t.id
    from target t
    where t.handler_id = of_handler and t.key = any(keys) and t.unused_at is not null
    order by t.id for no key update)
  update target t set unused_at = null
  from marked m
  where t.id = m.id
  returning t.id, t.key, t.leader_id;
end $function$
;

create sequence submit_seq as bigint start 1 increment 1 cache 1;

create table api_token (
  id integer not null generated always as identity,
  name text not null,
  hash bytea not null,
  scopes text[] not null,
  created_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  tenant text,
  handlers text[],
  expires_at timestamp with time zone,
  used_at timestamp with time zone,
  replaces integer,
  constraint api_token_pkey PRIMARY KEY (id),
  constraint api_token_hash_key UNIQUE (hash),
  constraint api_token_hash_check CHECK (octet_length(hash) = 32),
  constraint api_token_name_check CHECK (octet_length(name) >= 1 AND octet_length(name) <= 200)
);

create table audit (
  id bigint not null generated always as identity,
  at timestamp with time zone not null default clock(),
  who text not null,
  door text not null,
  origin text,
  verb text not null,
  subject text not null,
  detail jsonb not null default '{}'::jsonb,
  outcome text,
  answer jsonb,
  constraint audit_pkey PRIMARY KEY (id),
  constraint audit_door_check CHECK (door = ANY (ARRAY['client'::text, 'cli'::text, 'api'::text, 'mcp'::text])),
  constraint audit_text_check CHECK (octet_length(who) >= 1 AND octet_length(who) <= 600 AND octet_length(subject) >= 1 AND octet_length(subject) <= 4000)
);

create table batch (
  id bigint not null generated always as identity,
  target_id integer not null,
  leader_id integer not null,
  epoch bigint not null,
  turn bigint not null,
  dispatch bigint,
  state smallint not null default 1,
  reason smallint not null,
  attempt integer not null default 0,
  counted smallint not null default 0,
  attempt_by text,
  attempt_until timestamp with time zone,
  refusals smallint not null default 0,
  retry_at timestamp with time zone,
  reference text,
  poll_at timestamp with time zone,
  poll_until timestamp with time zone,
  parent_id bigint,
  sent_as bigint,
  depth smallint not null default 0,
  refused boolean not null default false,
  unsure boolean not null default false,
  n integer not null,
  n_left integer not null default 0,
  members bigint[] not null,
  bytes bigint not null,
  weight double precision not null,
  fresh boolean not null default false,
  error text,
  completion jsonb,
  fault_id integer,
  fault_attempt integer,
  created_at timestamp with time zone not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  called_at timestamp with time zone,
  awaited boolean not null default false,
  read_at timestamp with time zone,
  constraint batch_pkey PRIMARY KEY (id),
  constraint batch_check CHECK (n_left >= 0 AND n_left <= n),
  constraint batch_check1 CHECK (cardinality(members) = n),
  constraint batch_check2 CHECK ((state = ANY (ARRAY[4, 5, 6, 7])) = (finished_at IS NOT NULL)),
  constraint batch_check3 CHECK (state <> 7 OR n_left = n),
  constraint batch_check4 CHECK (attempt_until IS NULL OR (state = ANY (ARRAY[1, 3]))),
  constraint batch_check5 CHECK (dispatch IS NULL OR state = 1),
  constraint batch_n_check CHECK (n > 0),
  constraint batch_state_check CHECK (state = ANY (ARRAY[1, 3, 4, 5, 6, 7]))
) with (fillfactor=70);

create table bulk_action (
  id uuid not null,
  handler_id integer not null,
  filter jsonb not null,
  action jsonb not null,
  state smallint not null default 0,
  step bigint not null default 0,
  place jsonb,
  last_seq bigint not null,
  last_batch_id bigint not null,
  total bigint not null default 0,
  n_done bigint not null default 0,
  n_skipped bigint not null default 0,
  failures jsonb not null default '{}'::jsonb,
  tries integer not null default 0,
  error text,
  due_at timestamp with time zone,
  who text not null,
  door text not null,
  origin text,
  created_at timestamp with time zone not null,
  worked_from timestamp with time zone,
  changed_at timestamp with time zone not null,
  finished_at timestamp with time zone,
  step_at timestamp with time zone,
  constraint bulk_action_pkey PRIMARY KEY (id),
  constraint bulk_action_counts_check CHECK (LEAST(total, n_done, n_skipped) >= 0),
  constraint bulk_action_due_check CHECK ((state = ANY (ARRAY[0, 1])) = (due_at IS NOT NULL)),
  constraint bulk_action_finished_check CHECK ((due_at IS NULL) = (finished_at IS NOT NULL)),
  constraint bulk_action_state_check CHECK (state >= 0 AND state <= 3),
  constraint bulk_action_step_check CHECK (step_at IS NULL OR due_at IS NULL OR due_at = 'infinity'::timestamp with time zone)
) with (fillfactor=50);

create table busy_key (
  target_id integer not null,
  key text not null,
  seq bigint not null,
  constraint busy_key_pkey PRIMARY KEY (target_id, key)
);

create table cancellation (
  id bigint not null generated always as identity,
  batch_id bigint not null,
  handler_id integer not null,
  reference text not null,
  why smallint not null,
  state smallint not null default 0,
  tries integer not null default 0,
  next_at timestamp with time zone,
  error text,
  requested_at timestamp with time zone not null,
  ended_at timestamp with time zone,
  constraint cancellation_pkey PRIMARY KEY (id),
  constraint cancellation_check CHECK ((state = 0) = (next_at IS NOT NULL)),
  constraint cancellation_check1 CHECK ((state = 0) = (ended_at IS NULL)),
  constraint cancellation_state_check CHECK (state >= 0 AND state <= 5),
  constraint cancellation_why_check CHECK (why >= 0 AND why <= 2)
);

create table chunk (
  id uuid not null,
  execution_id uuid not null,
  round integer not null,
  place integer not null,
  epoch bigint not null,
  node_id text not null,
  state smallint not null default 2,
  n integer not null default 0,
  n_open integer not null default 0,
  expires_at timestamp with time zone,
  reason text,
  created_at timestamp with time zone not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  reached bigint,
  constraint chunk_pkey PRIMARY KEY (id),
  constraint chunk_check CHECK (n_open >= 0 AND n_open <= n),
  constraint chunk_check1 CHECK ((state = ANY (ARRAY[100, '-1'::integer])) = (finished_at IS NOT NULL)),
  constraint chunk_check2 CHECK (state <> 100 OR n_open = 0),
  constraint chunk_check3 CHECK (state <> 1 OR expires_at IS NOT NULL),
  constraint chunk_state_check CHECK (state = ANY (ARRAY[2, 0, 1, 100, '-1'::integer]))
) with (fillfactor=50);

create table delayed (
  target_id integer not null,
  priority smallint not null default 0,
  seq bigint not null,
  not_before timestamp with time zone not null,
  bytes integer not null,
  attempts smallint not null default 0,
  weight double precision,
  key text,
  error text,
  failed_at timestamp with time zone,
  constraint delayed_pkey PRIMARY KEY (target_id, not_before, seq)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=20000, vacuum_truncate=off);

create table dependency (
  batch_id bigint not null,
  needs bigint not null,
  handed boolean not null default false,
  constraint dependency_pkey PRIMARY KEY (batch_id, needs),
  constraint dependency_check CHECK (batch_id <> needs)
);

create table dispatch (
  leader_id integer not null,
  no bigint not null,
  handler_id integer not null,
  slots integer not null,
  node text,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  rate_changes integer not null default 0,
  constraint dispatch_pkey PRIMARY KEY (leader_id, no),
  constraint dispatch_slots_check CHECK (slots >= 0)
) with (fillfactor=50);

create table drain (
  node text not null,
  is_name boolean not null,
  drained_at timestamp with time zone not null,
  constraint drain_pkey PRIMARY KEY (node),
  constraint drain_node_check CHECK (octet_length(node) >= 1 AND octet_length(node) <= 300)
);

create table ended_dependency (
  id bigint not null generated always as identity,
  seq bigint not null,
  state smallint not null,
  constraint ended_dependency_pkey PRIMARY KEY (id),
  constraint ended_dependency_state_check CHECK (state >= 4 AND state <= 7)
);

create table execution (
  id uuid not null,
  function_id text not null,
  method text not null,
  config json not null,
  topic text,
  state smallint not null default 2,
  max_attempts integer not null default 0,
  attempts_limit integer,
  items integer not null default 0,
  n_created integer not null default 0,
  n_running integer not null default 0,
  n_done integer not null default 0,
  n_failed integer not null default 0,
  n_dead integer not null default 0,
  run text,
  run_started_at timestamp with time zone,
  epoch bigint not null default 0,
  turn bigint not null default 0,
  round integer not null default 0,
  wants_nodes boolean not null default false,
  note text,
  resume_at timestamp with time zone,
  woken_at timestamp with time zone,
  created_at timestamp with time zone not null,
  started_at timestamp with time zone,
  finished_at timestamp with time zone,
  tenant text,
  constraint execution_pkey PRIMARY KEY (id),
  constraint execution_attempts_limit_check CHECK (attempts_limit > 0),
  constraint execution_check CHECK (LEAST(n_created, n_running, n_done, n_failed, n_dead) >= 0),
  constraint execution_check1 CHECK ((n_created + n_running + n_done + n_failed + n_dead) = items),
  constraint execution_check2 CHECK ((state = ANY (ARRAY[100, '-3'::integer, '-4'::integer])) = (finished_at IS NOT NULL)),
  constraint execution_check3 CHECK (state <> 100 OR (n_done + n_dead) = items),
  constraint execution_check4 CHECK ((state <> ALL (ARRAY[0, 1])) OR (n_done + n_dead) < items),
  constraint execution_check5 CHECK ((state = ANY (ARRAY[0, 1])) OR NOT wants_nodes),
  constraint execution_function_id_check CHECK (octet_length(function_id) >= 1 AND octet_length(function_id) <= 512),
  constraint execution_items_check CHECK (items >= 0),
  constraint execution_max_attempts_check CHECK (max_attempts >= 0),
  constraint execution_method_check CHECK (octet_length(method) >= 1 AND octet_length(method) <= 512),
  constraint execution_state_check CHECK (state = ANY (ARRAY['-4'::integer, '-3'::integer, 0, 1, 2, 100]))
) with (fillfactor=50);

create table expiry (
  seq bigint not null,
  at timestamp with time zone not null,
  expires_at timestamp with time zone,
  constraint expiry_pkey PRIMARY KEY (seq)
);

create table fanout (
  id bigint not null generated always as identity,
  public_id uuid not null default gen_random_uuid(),
  user_key text,
  state smallint not null default 0,
  segment_size smallint not null,
  segments integer not null default 0,
  items bigint not null default 0,
  open_segments integer not null default 0,
  recipient_id integer,
  opened_at timestamp with time zone not null,
  active_at timestamp with time zone not null,
  sealed_at timestamp with time zone,
  completed_at timestamp with time zone,
  expired_at timestamp with time zone,
  tenant text,
  constraint fanout_pkey PRIMARY KEY (id),
  constraint fanout_public_id_key UNIQUE (public_id),
  constraint fanout_check CHECK (items >= segments),
  constraint fanout_check1 CHECK (open_segments >= 0 AND open_segments <= segments),
  constraint fanout_check2 CHECK (state <> 0 OR sealed_at IS NULL),
  constraint fanout_check3 CHECK ((state <> ALL (ARRAY[1, 2])) OR sealed_at IS NOT NULL),
  constraint fanout_check4 CHECK (state <> 1 OR open_segments > 0),
  constraint fanout_check5 CHECK (completed_at IS NULL OR open_segments = 0),
  constraint fanout_check6 CHECK (state <> 2 OR completed_at IS NOT NULL),
  constraint fanout_check7 CHECK (state > 1 OR completed_at IS NULL),
  constraint fanout_check8 CHECK (state <> 3 OR expired_at IS NOT NULL),
  constraint fanout_check9 CHECK (state > 2 OR expired_at IS NULL),
  constraint fanout_segment_size_check CHECK (segment_size >= 1 AND segment_size <= 8000),
  constraint fanout_segments_check CHECK (segments >= 0),
  constraint fanout_state_check CHECK (state >= 0 AND state <= 4),
  constraint fanout_user_key_check CHECK (octet_length(user_key) >= 1 AND octet_length(user_key) <= 1024)
) with (fillfactor=50);

create table fanout_add (
  fanout_id bigint not null,
  key text not null,
  first integer not null,
  items integer not null,
  constraint fanout_add_pkey PRIMARY KEY (fanout_id, key),
  constraint fanout_add_items_check CHECK (items > 0),
  constraint fanout_add_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 256)
);

create table fault (
  id integer not null generated always as identity,
  handler_id integer not null,
  stack text not null,
  at timestamp with time zone not null,
  constraint fault_pkey PRIMARY KEY (id),
  constraint fault_stack_check CHECK (length(stack) <= 2000)
);

create table handler (
  id integer not null generated always as identity,
  name text not null,
  paused_at timestamp with time zone,
  pause_reason text,
  hold_until timestamp with time zone,
  allowed integer,
  paces double precision[] not null default '{}'::double precision[],
  leaders integer not null,
  max_items integer not null,
  max_bytes bigint,
  overhead_bytes integer not null default 0,
  max_weight double precision,
  min_items integer not null default 1,
  linger_ms bigint not null,
  quiet_ms bigint,
  per_target integer not null,
  per_handler integer not null,
  weight_per_target double precision,
  weight_per_handler double precision,
  rates jsonb not null default '[]'::jsonb,
  keyed boolean not null default false,
  queued_per_target integer,
  queued_per_handler integer,
  retention_ms bigint not null,
  timeout_ms integer not null,
  partitions integer not null default 0,
  needs jsonb not null default '{}'::jsonb,
  cancels boolean not null default false,
  reductions integer not null default 0,
  hands_dependencies boolean not null default false,
  defined jsonb,
  limits jsonb,
  limits_until timestamp with time zone,
  rate_changes integer not null default 0,
  shares integer,
  share_ms double precision,
  share_until timestamp with time zone,
  max_payload_bytes integer,
  ordered boolean not null default false,
  coalesces boolean not null default false,
  constraint handler_pkey PRIMARY KEY (id),
  constraint handler_name_key UNIQUE (name),
  constraint handler_allowed_check CHECK (allowed > 0),
  constraint handler_leaders_check CHECK (leaders >= 0),
  constraint handler_linger_ms_check CHECK (linger_ms >= 0),
  constraint handler_max_items_check CHECK (max_items > 0),
  constraint handler_name_check CHECK (octet_length(name) >= 1 AND octet_length(name) <= 64),
  constraint handler_partitions_check CHECK (partitions >= 0 AND partitions <= 1024),
  constraint handler_per_handler_check CHECK (per_handler > 0),
  constraint handler_per_target_check CHECK (per_target > 0)
) with (fillfactor=50);

create table held (
  seq bigint not null,
  target_id integer not null,
  not_before timestamp with time zone,
  constraint held_pkey PRIMARY KEY (seq)
);

create table idempotency_key (
  caller integer not null,
  route text not null,
  key text not null,
  request bytea not null,
  status smallint not null,
  answer text not null,
  created_at timestamp with time zone not null,
  constraint idempotency_key_pkey PRIMARY KEY (caller, route, key),
  constraint idempotency_key_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 255),
  constraint idempotency_key_request_check CHECK (octet_length(request) = 32)
);

create table installation (
  id uuid not null default gen_random_uuid(),
  one boolean not null default true,
  constraint installation_pkey PRIMARY KEY (id),
  constraint installation_one_key UNIQUE (one),
  constraint installation_one_check CHECK (one)
);

create table lane (
  id integer not null generated always as identity,
  service text not null,
  queuer_id smallint not null default 0,
  handler_id integer not null,
  kind smallint not null,
  approach smallint not null,
  on_invalid smallint not null,
  pending_limit integer,
  partition text,
  unused_at timestamp with time zone,
  constraint lane_pkey PRIMARY KEY (id),
  constraint lane_service_key UNIQUE (service),
  constraint lane_approach_check CHECK (approach >= 0 AND approach <= 2),
  constraint lane_kind_check CHECK (kind = ANY (ARRAY[0, 1])),
  constraint lane_on_invalid_check CHECK (on_invalid = ANY (ARRAY[0, 1])),
  constraint lane_pending_limit_check CHECK (pending_limit > 0),
  constraint lane_service_check CHECK (octet_length(service) >= 1 AND octet_length(service) <= 512)
);

create table lane_batch (
  batch_id bigint not null,
  lane_id integer not null,
  target_id integer not null,
  seq bigint not null,
  status smallint not null default 0,
  handler_id integer not null,
  submitter bigint,
  not_before timestamp with time zone,
  changed_at timestamp with time zone not null,
  granted_at timestamp with time zone,
  granted_attempt integer,
  look_ups smallint not null default 0,
  overdue smallint not null default 0,
  resolving boolean not null default false,
  weight integer not null,
  reads text[] not null,
  writes text[] not null,
  constraint lane_batch_pkey PRIMARY KEY (batch_id),
  constraint lane_batch_status_check CHECK (status >= 0 AND status <= 19),
  constraint lane_batch_weight_check CHECK (weight > 0)
);

create table lane_queue (
  lane_id integer not null,
  seq bigint not null,
  target_id integer not null,
  ready_at timestamp with time zone not null,
  bytes integer not null,
  attempts smallint not null default 0,
  weight double precision,
  key text,
  reads text[],
  writes text[],
  constraint lane_queue_pkey PRIMARY KEY (lane_id, seq)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=20000, vacuum_truncate=off);

create table lane_state (
  lane_id integer not null,
  queuer_id smallint not null,
  weight integer not null default 1,
  deficit bigint not null default 0,
  served bigint not null default 0,
  granted bigint not null default 0,
  ready boolean not null default false,
  due_at timestamp with time zone,
  pending integer not null default 0,
  saturated boolean not null default false,
  hold_until timestamp with time zone,
  blocked_by integer,
  paused_at timestamp with time zone,
  pause_reason text,
  unserved_by integer[],
  halted_by bigint,
  halted_at timestamp with time zone,
  halt_reason text,
  constraint lane_state_pkey PRIMARY KEY (lane_id),
  constraint lane_state_check CHECK ((halted_by IS NULL) = (halted_at IS NULL)),
  constraint lane_state_pending_check CHECK (pending >= 0),
  constraint lane_state_weight_check CHECK (weight >= 1 AND weight <= 10000)
) with (fillfactor=50);

create table leader (
  id integer not null generated always as identity,
  handler_id integer not null,
  name text not null,
  state smallint not null default 0,
  wake_at timestamp with time zone,
  blocked boolean not null default false,
  wants_slots boolean not null default false,
  holder text,
  run_started_at timestamp with time zone,
  epoch bigint not null default 0,
  turn bigint not null default 0,
  answer jsonb,
  acquired_at timestamp with time zone,
  expires_at timestamp with time zone,
  woken_at timestamp with time zone,
  last_reason smallint,
  constraint leader_pkey PRIMARY KEY (id),
  constraint leader_handler_id_name_key UNIQUE (handler_id, name),
  constraint leader_check CHECK ((state = 2) = (wake_at IS NOT NULL)),
  constraint leader_check1 CHECK (state = 0 OR expires_at IS NOT NULL),
  constraint leader_state_check CHECK (state = ANY (ARRAY[0, 1, 2]))
) with (fillfactor=50);

create table lease (
  resource text not null,
  holder text,
  epoch bigint not null default 1,
  acquired_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  revoked_at timestamp with time zone,
  wanted_by text,
  moved_at timestamp with time zone,
  reason text,
  kept_for text,
  kept_until timestamp with time zone,
  constraint lease_pkey PRIMARY KEY (resource),
  constraint lease_check CHECK ((kept_for IS NULL) = (kept_until IS NULL)),
  constraint lease_check1 CHECK (kept_for IS NULL OR holder IS NULL)
) with (fillfactor=50);

create table member (
  seq bigint not null,
  batch_id bigint not null,
  attempts smallint not null,
  constraint member_pkey PRIMARY KEY (seq)
);

create table migration (
  id serial not null,
  name character varying(255) not null,
  run_on timestamp without time zone not null,
  constraint migration_pkey PRIMARY KEY (id)
);

create table node (
  id text not null,
  task_queue text not null,
  handlers text[] not null default '{}'::text[],
  version text not null default ''::text,
  attributes jsonb not null default '{}'::jsonb,
  batch boolean not null default false,
  load double precision,
  started_at timestamp with time zone not null,
  seen_at timestamp with time zone not null,
  draining boolean not null default false,
  functions text[] not null default '{}'::text[],
  name text,
  drained boolean not null default false,
  topics text[] not null default '{}'::text[],
  answered_at timestamp with time zone,
  timers_late_ms integer,
  constraint node_pkey PRIMARY KEY (id)
) with (fillfactor=50);

create table notification (
  id bigint not null generated always as identity,
  batch_id bigint,
  attempt integer,
  recipient_id integer not null,
  body jsonb not null,
  attempts smallint not null default 0,
  next_at timestamp with time zone,
  done_at timestamp with time zone,
  error text,
  created_at timestamp with time zone default clock(),
  fanout_id bigint,
  constraint notification_pkey PRIMARY KEY (id),
  constraint notification_batch_id_attempt_recipient_id_key UNIQUE (batch_id, attempt, recipient_id)
);

create table outcome (
  seq bigint not null,
  target_id integer not null,
  state smallint not null,
  attempts smallint not null,
  batch_id bigint,
  result json,
  error text,
  at timestamp with time zone not null,
  constraint outcome_pkey PRIMARY KEY (seq),
  constraint outcome_state_check CHECK (state >= 4 AND state <= 7)
);

create table outcome_minute (
  handler_id integer not null,
  minute timestamp with time zone not null,
  calls bigint[] not null,
  ends bigint[] not null,
  latency bigint[] not null,
  sizes bigint[] not null,
  reasons bigint[] not null,
  tasks bigint not null,
  call_ms double precision not null,
  constraint outcome_minute_pkey PRIMARY KEY (minute, handler_id)
) with (fillfactor=50);

create table partition (
  resource text not null,
  handler_id integer not null,
  no integer not null,
  pinned_to text,
  pinned_at timestamp with time zone,
  checkpoint json,
  checkpoint_at timestamp with time zone,
  checkpoint_epoch bigint,
  constraint partition_pkey PRIMARY KEY (resource),
  constraint partition_handler_id_no_key UNIQUE (handler_id, no),
  constraint partition_check CHECK ((pinned_to IS NULL) = (pinned_at IS NULL)),
  constraint partition_no_check CHECK (no >= 0 AND no <= 1023)
);

create table queue (
  target_id integer not null,
  priority smallint not null default 0,
  seq bigint not null,
  ready_at timestamp with time zone not null,
  bytes integer not null,
  attempts smallint not null default 0,
  weight double precision,
  key text,
  constraint queue_pkey PRIMARY KEY (target_id, priority, seq)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=20000, vacuum_truncate=off);

create table queuer (
  id smallint not null,
  state smallint not null default 0,
  wake_at timestamp with time zone,
  holder text,
  run_started_at timestamp with time zone,
  epoch bigint not null default 0,
  turn bigint not null default 0,
  answer jsonb,
  acquired_at timestamp with time zone,
  expires_at timestamp with time zone,
  slots integer not null default 16,
  strategy smallint not null default 1,
  depth integer not null default 3,
  round bigint not null default 0,
  grants bigint not null default 0,
  woken_at timestamp with time zone,
  paused_at timestamp with time zone,
  pause_reason text,
  constraint queuer_pkey PRIMARY KEY (id),
  constraint queuer_check CHECK ((state = 2) = (wake_at IS NOT NULL)),
  constraint queuer_check1 CHECK (state = 0 OR expires_at IS NOT NULL),
  constraint queuer_depth_check CHECK (depth > 0),
  constraint queuer_slots_check CHECK (slots >= 1 AND slots <= 1000),
  constraint queuer_state_check CHECK (state = ANY (ARRAY[0, 1, 2])),
  constraint queuer_strategy_check CHECK (strategy >= 0 AND strategy <= 3)
) with (fillfactor=50);

create table recipient (
  id integer not null generated always as identity,
  kind text not null,
  address jsonb not null,
  used_at timestamp with time zone not null,
  constraint recipient_pkey PRIMARY KEY (id),
  constraint recipient_address_key UNIQUE (address),
  constraint recipient_kind_check CHECK (kind = ANY (ARRAY['workflow'::text, 'webhook'::text]))
);

create table result_page (
  batch_id bigint not null,
  attempt integer not null,
  no integer not null,
  first integer not null,
  last integer not null,
  results json not null,
  constraint result_page_pkey PRIMARY KEY (batch_id, attempt, no)
);

create table segment (
  fanout_id bigint not null,
  no integer not null,
  size smallint not null,
  bits bytea storage plain not null,
  constraint segment_pkey PRIMARY KEY (fanout_id, no),
  constraint segment_check CHECK (octet_length(bits) = ((size + 7) / 8)),
  constraint segment_no_check CHECK (no >= 0),
  constraint segment_size_check CHECK (size >= 1 AND size <= 8000)
) with (autovacuum_vacuum_cost_delay=0, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=2000, fillfactor=50);

create table shared_limit (
  id integer not null generated always as identity,
  name text not null,
  concurrency integer,
  rates jsonb not null default '[]'::jsonb,
  paces double precision[] not null default '{}'::double precision[],
  defined jsonb not null,
  limits jsonb,
  limits_until timestamp with time zone,
  constraint shared_limit_pkey PRIMARY KEY (id),
  constraint shared_limit_name_key UNIQUE (name),
  constraint shared_limit_concurrency_check CHECK (concurrency > 0),
  constraint shared_limit_name_check CHECK (octet_length(name) >= 1 AND octet_length(name) <= 64)
) with (fillfactor=50);

create table submitter (
  no bigint not null generated always as identity,
  queuer_id smallint not null,
  epoch bigint not null,
  slots integer not null,
  node text,
  started_at timestamp with time zone not null,
  expires_at timestamp with time zone not null,
  constraint submitter_pkey PRIMARY KEY (no),
  constraint submitter_slots_check CHECK (slots >= 0)
) with (fillfactor=50);

create table target (
  id integer not null generated always as identity,
  handler_id integer not null,
  key text not null,
  leader_id integer not null,
  paused boolean not null default false,
  paused_at timestamp with time zone,
  pause_reason text,
  busy boolean not null default false,
  due_at timestamp with time zone,
  hold_until timestamp with time zone,
  flush_seq bigint,
  overrides jsonb,
  paces double precision[] not null default '{}'::double precision[],
  allowed integer,
  reductions integer not null default 0,
  lane_id integer,
  per_target integer,
  weight_per_target double precision,
  rates jsonb,
  limits jsonb,
  limits_until timestamp with time zone,
  unused_at timestamp with time zone,
  constraint target_pkey PRIMARY KEY (id),
  constraint target_handler_id_key_key UNIQUE (handler_id, key),
  constraint target_lane UNIQUE (id, lane_id),
  constraint target_allowed_check CHECK (allowed > 0),
  constraint target_check CHECK (paused = (paused_at IS NOT NULL)),
  constraint target_key_check CHECK (octet_length(key) >= 1 AND octet_length(key) <= 512),
  constraint target_per_target_check CHECK (per_target > 0),
  constraint target_weight_per_target_check CHECK (weight_per_target > 0::double precision)
) with (fillfactor=60);

create table task (
  seq bigint not null,
  created_at timestamp with time zone not null,
  target_id integer not null,
  bytes integer not null,
  priority smallint not null default 0,
  recipient_id integer,
  weight double precision,
  id text not null,
  key text,
  payload json not null,
  version integer,
  trace text,
  constraint task_pkey PRIMARY KEY (seq)
);

create table task_dependency (
  seq bigint not null,
  needs bigint not null,
  place smallint not null,
  run boolean not null,
  state smallint,
  needs_id text not null,
  constraint task_dependency_pkey PRIMARY KEY (seq, needs),
  constraint task_dependency_check CHECK (needs < seq),
  constraint task_dependency_state_check CHECK (state >= 4 AND state <= 7)
);

create table task_label (
  seq bigint not null,
  handler_id integer not null,
  tags text[] not null,
  metadata json,
  constraint task_label_pkey PRIMARY KEY (seq),
  constraint task_label_tags_check CHECK (cardinality(tags) <= 10)
);

create table task_tag (
  tag text not null,
  handler_id integer not null,
  seq bigint not null,
  constraint task_tag_pkey PRIMARY KEY (tag, handler_id, seq),
  constraint task_tag_tag_check CHECK (octet_length(tag) >= 1 AND octet_length(tag) <= 100)
);

create table tenant (
  name text not null,
  max_queued bigint,
  max_bytes bigint,
  max_targets integer,
  max_executions integer,
  max_items bigint,
  created_at timestamp with time zone not null,
  max_per_second integer,
  constraint tenant_pkey PRIMARY KEY (name),
  constraint tenant_limits_check CHECK (LEAST(max_queued, max_bytes, max_targets::bigint, max_executions::bigint, max_items) >= 0),
  constraint tenant_max_per_second_check CHECK (max_per_second >= 0),
  constraint tenant_name_check CHECK (name ~ '^[a-z0-9][a-z0-9-]{0,62}$'::text)
);

create table uncounted_end (
  handler_id integer not null,
  minute timestamp with time zone not null,
  ends bigint[] not null
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=20000, vacuum_truncate=off);

create table unneeded_object (
  key text not null,
  due_at timestamp with time zone,
  taken boolean not null default false,
  tries integer not null default 0,
  error text,
  constraint unneeded_object_pkey PRIMARY KEY (key)
);

create table work_item (
  execution_id uuid not null,
  "position" integer not null,
  state smallint not null default 0,
  attempts smallint not null default 0,
  content_id uuid not null,
  copy integer not null,
  chunk_id uuid,
  exit_code integer,
  arguments json not null,
  stdout text,
  stderr text,
  usage json,
  metadata json,
  losses smallint not null default 0,
  constraint work_item_pkey PRIMARY KEY (execution_id, "position"),
  constraint work_item_check CHECK ((state <> ALL (ARRAY[1, 100, '-1'::integer, '-2'::integer])) OR chunk_id IS NOT NULL),
  constraint work_item_copy_check CHECK (copy > 0),
  constraint work_item_position_check CHECK ("position" >= 0),
  constraint work_item_state_check CHECK (state = ANY (ARRAY[0, 1, 100, '-1'::integer, '-2'::integer]))
) with (autovacuum_vacuum_scale_factor=0.02, fillfactor=80);

CREATE OR REPLACE FUNCTION check_backlog(h handler, of_target integer, target text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION check_task(h handler, payload jsonb, target text, not_before timestamp with time zone, priority integer, weight double precision, bytes integer, distinct_key text)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
declare
  size constant bigint := octet_length(payload::text);
  heaviest constant float8 := least(h.max_weight, h.weight_per_target, h.weight_per_handler);
begin
  if h.max_payload_bytes is null then
    perform refuse_task('INVALID_HANDLER', format('handler: "%s" was registered by an older version', h.name),
      'Start a worker of this version with this handler.', '55000');
  elsif h.ordered then
    perform refuse_task('INVALID_HANDLER', format('handler: expected one without lanes, got "%s"', h.name),
      'Submit by the client library or the HTTP API, which compute lanes and keys by the handler''s code; from SQL write a row '
      'of your own, which a program submits by the client.', '0A000');
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
end $function$
;

CREATE OR REPLACE FUNCTION is_new_task(of_id text, h handler, of_payload jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION submit(handler text, id text, payload jsonb, target text, not_before timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, weight double precision DEFAULT 1, bytes integer DEFAULT NULL::integer, distinct_key text DEFAULT NULL::text, tags text[] DEFAULT NULL::text[], metadata jsonb DEFAULT NULL::jsonb, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, depends_on text[] DEFAULT NULL::text[], on_dependency_failure text DEFAULT NULL::text, callback jsonb DEFAULT NULL::jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'muster', 'pg_temp'
 SET enable_seqscan TO 'off'
 SET standard_conforming_strings TO 'on'
AS $function$
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
end $function$
;

CREATE OR REPLACE FUNCTION target_of(h handler, of_key text)
 RETURNS integer
 LANGUAGE plpgsql
AS $function$
declare
  leads constant text := case when h.leaders = 0 then of_key else leader_index(of_key, h.leaders)::text end;
  -- Before what the statements below see: each takes a look of its own, or all take that of the transaction.
  looked_up_at constant timestamptz := server_time() - case
    when current_setting('transaction_isolation') in ('repeatable read', 'serializable')
      then clock_timestamp() - transaction_timestamp()
    else interval '0' end;
  found_id int;
  marked boolean;
begin
  loop
    select id, unused_at is not null into found_id, marked from target where handler_id = h.id and key = of_key;
    if found and marked then
      -- Keeps it until the task is there to be seen, and nobody waits for it: the sweeper passes over locked rows, and takes the mark
      -- away in a later pass.
      perform from target where id = found_id for key share;
      continue when not found; -- deleted
    end if;
    exit when found_id is not null;
    insert into leader (handler_id, name) values (h.id, leads) on conflict do nothing;
    insert into target (handler_id, key, leader_id)
    select h.id, of_key, id
    from leader
    where handler_id = h.id and name = leads
    on conflict do nothing;
  end loop;
  perform check_targets(looked_up_at);
  return found_id;
end $function$
;

alter table batch add constraint batch_target_id_fkey FOREIGN KEY (target_id) REFERENCES target(id);
alter table bulk_action add constraint bulk_action_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table cancellation add constraint cancellation_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table chunk add constraint chunk_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES execution(id);
alter table dependency add constraint dependency_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES lane_batch(batch_id) ON DELETE CASCADE;
alter table dependency add constraint dependency_needs_fkey FOREIGN KEY (needs) REFERENCES lane_batch(batch_id) ON DELETE CASCADE;
alter table dispatch add constraint dispatch_leader_id_fkey FOREIGN KEY (leader_id) REFERENCES leader(id);
alter table fanout add constraint fanout_recipient_id_fkey FOREIGN KEY (recipient_id) REFERENCES recipient(id);
alter table fanout_add add constraint fanout_add_fanout_id_fkey FOREIGN KEY (fanout_id) REFERENCES fanout(id);
alter table fault add constraint fault_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table handler add constraint handler_shares_fkey FOREIGN KEY (shares) REFERENCES shared_limit(id);
alter table lane add constraint lane_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table lane add constraint lane_partition_fkey FOREIGN KEY (partition) REFERENCES partition(resource);
alter table lane add constraint lane_queuer_id_fkey FOREIGN KEY (queuer_id) REFERENCES queuer(id);
alter table lane_batch add constraint lane_batch_batch_id_fkey FOREIGN KEY (batch_id) REFERENCES batch(id) ON DELETE CASCADE;
alter table lane_batch add constraint lane_batch_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table lane_batch add constraint lane_batch_lane_id_fkey FOREIGN KEY (lane_id) REFERENCES lane(id);
alter table lane_batch add constraint lane_batch_target_id_lane_id_fkey FOREIGN KEY (target_id, lane_id) REFERENCES target(id, lane_id);
alter table lane_state add constraint lane_state_blocked_by_fkey FOREIGN KEY (blocked_by) REFERENCES handler(id);
alter table lane_state add constraint lane_state_lane_id_fkey FOREIGN KEY (lane_id) REFERENCES lane(id);
alter table leader add constraint leader_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table notification add constraint notification_recipient_id_fkey FOREIGN KEY (recipient_id) REFERENCES recipient(id);
alter table outcome_minute add constraint outcome_minute_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table partition add constraint partition_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table partition add constraint partition_resource_fkey FOREIGN KEY (resource) REFERENCES lease(resource);
alter table segment add constraint segment_fanout_id_fkey FOREIGN KEY (fanout_id) REFERENCES fanout(id);
alter table submitter add constraint submitter_queuer_id_fkey FOREIGN KEY (queuer_id) REFERENCES queuer(id);
alter table target add constraint target_handler_id_fkey FOREIGN KEY (handler_id) REFERENCES handler(id);
alter table target add constraint target_lane_id_fkey FOREIGN KEY (lane_id) REFERENCES lane(id);

CREATE INDEX batch_bad ON batch USING btree (target_id, state, id) WHERE state = ANY (ARRAY[3, 5, 6]);
CREATE INDEX batch_bad_at ON batch USING btree (finished_at, id) WHERE state = ANY (ARRAY[5, 6]);
CREATE INDEX batch_finished ON batch USING btree (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX batch_given ON batch USING btree ((members[1])) WHERE reason = 9;
CREATE INDEX batch_open ON batch USING btree (leader_id, id) WHERE state = 1;
CREATE INDEX batch_open_target ON batch USING btree (target_id) WHERE state = 1;
CREATE INDEX batch_parent ON batch USING btree (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX batch_poll ON batch USING btree (poll_at) WHERE reference IS NOT NULL AND state = 1;
CREATE INDEX batch_read ON batch USING btree (read_at) WHERE read_at IS NOT NULL AND reference IS NOT NULL AND state = 1;
CREATE INDEX batch_reference ON batch USING btree (reference) WHERE reference IS NOT NULL;
CREATE INDEX batch_target ON batch USING btree (target_id, id);
CREATE INDEX batch_troubled ON batch USING btree (id) WHERE (state = ANY (ARRAY[1, 3])) AND error IS NOT NULL;
CREATE INDEX bulk_action_created ON bulk_action USING btree (created_at, id);
CREATE INDEX bulk_action_due ON bulk_action USING btree (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX busy_key_seq ON busy_key USING btree (seq);
CREATE UNIQUE INDEX cancellation_batch ON cancellation USING btree (batch_id, md5(reference));
CREATE INDEX cancellation_due ON cancellation USING btree (handler_id, next_at) WHERE state = 0;
CREATE UNIQUE INDEX chunk_execution ON chunk USING btree (execution_id, round, place);
CREATE INDEX chunk_taken ON chunk USING btree (expires_at) WHERE state = 1;
CREATE INDEX delayed_due ON delayed USING btree ((not_before AT TIME ZONE 'UTC'::text), (- seq));
CREATE INDEX delayed_failed ON delayed USING btree (failed_at, seq) WHERE error IS NOT NULL;
CREATE UNIQUE INDEX delayed_seq ON delayed USING btree (seq);
CREATE INDEX dependency_needs ON dependency USING btree (needs);
CREATE INDEX dispatch_handler ON dispatch USING btree (handler_id);
CREATE INDEX execution_created ON execution USING btree (created_at, id);
CREATE INDEX execution_deleted ON execution USING btree (finished_at) WHERE state = '-4'::integer;
CREATE INDEX execution_ended ON execution USING btree (finished_at) WHERE state = ANY (ARRAY[100, '-3'::integer]);
CREATE INDEX execution_open ON execution USING btree (resume_at) WHERE state = ANY (ARRAY[0, 1]);
CREATE INDEX execution_staging ON execution USING btree (resume_at) WHERE state = 2;
CREATE INDEX execution_tenant ON execution USING btree (tenant, created_at, id) WHERE tenant IS NOT NULL;
CREATE INDEX execution_woken ON execution USING btree (woken_at) WHERE woken_at IS NOT NULL;
CREATE INDEX expiry_at ON expiry USING btree (at);
CREATE INDEX fanout_idle ON fanout USING btree (state, active_at);
CREATE INDEX fanout_recipient ON fanout USING btree (recipient_id) WHERE recipient_id IS NOT NULL;
CREATE INDEX fanout_tenant ON fanout USING btree (tenant) WHERE tenant IS NOT NULL;
CREATE UNIQUE INDEX fault_stack ON fault USING btree (handler_id, md5(stack));
CREATE INDEX handler_limits ON handler USING btree (limits_until) WHERE limits_until IS NOT NULL;
CREATE INDEX held_target_seq ON held USING btree (target_id, seq);
CREATE INDEX idempotency_key_created ON idempotency_key USING btree (created_at);
CREATE INDEX lane_handler_id ON lane USING btree (handler_id, id);
CREATE INDEX lane_partition ON lane USING btree (partition) WHERE partition IS NOT NULL;
CREATE INDEX lane_batch_granted ON lane_batch USING btree (submitter) WHERE status = 3;
CREATE INDEX lane_batch_lane ON lane_batch USING btree (lane_id, batch_id);
CREATE UNIQUE INDEX lane_batch_open ON lane_batch USING btree (lane_id, seq) WHERE status < 10;
CREATE INDEX lane_batch_taken ON lane_batch USING btree (handler_id) WHERE status >= 2 AND status <= 5;
CREATE UNIQUE INDEX lane_queue_seq ON lane_queue USING btree (seq);
CREATE INDEX lane_blocked ON lane_state USING btree (blocked_by, queuer_id, served, lane_id) WHERE blocked_by IS NOT NULL;
CREATE INDEX lane_due ON lane_state USING btree (queuer_id, due_at) WHERE due_at IS NOT NULL AND NOT ready;
CREATE INDEX lane_halted ON lane_state USING btree (lane_id) WHERE halted_by IS NOT NULL;
CREATE INDEX lane_ready ON lane_state USING btree (queuer_id, served, lane_id) WHERE ready AND paused_at IS NULL AND halted_by IS NULL;
CREATE INDEX lane_unserved ON lane_state USING gin (unserved_by) WHERE unserved_by IS NOT NULL AND NOT ready;
CREATE INDEX leader_blocked ON leader USING btree (handler_id) WHERE blocked;
CREATE INDEX leader_expired ON leader USING btree (expires_at) WHERE state <> 0;
CREATE INDEX lease_holder ON lease USING btree (holder);
CREATE INDEX notification_due ON notification USING btree (next_at) WHERE done_at IS NULL;
CREATE UNIQUE INDEX notification_fanout ON notification USING btree (fanout_id) WHERE fanout_id IS NOT NULL;
CREATE INDEX notification_recipient ON notification USING btree (recipient_id);
CREATE INDEX notification_undelivered ON notification USING btree (id) WHERE error IS NOT NULL;
CREATE INDEX outcome_at ON outcome USING btree (at);
CREATE INDEX outcome_target ON outcome USING btree (target_id, state, seq);
CREATE INDEX recipient_used ON recipient USING btree (used_at);
CREATE INDEX shared_limit_until ON shared_limit USING btree (limits_until) WHERE limits_until IS NOT NULL;
CREATE INDEX submitter_queuer ON submitter USING btree (queuer_id);
CREATE INDEX target_busy ON target USING btree (leader_id) WHERE busy;
CREATE INDEX target_due ON target USING btree (leader_id, due_at) WHERE due_at IS NOT NULL AND NOT paused AND NOT busy;
CREATE INDEX target_lane_id ON target USING btree (lane_id) WHERE lane_id IS NOT NULL;
CREATE INDEX target_limits ON target USING btree (handler_id, id) WHERE limits IS NOT NULL;
CREATE INDEX target_limits_until ON target USING btree (limits_until) WHERE limits_until IS NOT NULL;
CREATE INDEX target_paused ON target USING btree (handler_id) WHERE paused;
CREATE UNIQUE INDEX task_id ON task USING btree (id);
CREATE INDEX task_recipient ON task USING btree (recipient_id) WHERE recipient_id IS NOT NULL;
CREATE INDEX task_dependency_open ON task_dependency USING btree (needs) WHERE state IS NULL;
CREATE INDEX unneeded_object_due ON unneeded_object USING btree (due_at);
CREATE INDEX work_item_chunk ON work_item USING btree (chunk_id, "position") WHERE chunk_id IS NOT NULL;
CREATE UNIQUE INDEX work_item_content ON work_item USING btree (execution_id, content_id, copy);
CREATE INDEX work_item_state ON work_item USING btree (execution_id, state, "position") WHERE state <> 100;

create view task_state as
 SELECT t.seq,
    t.id,
    t.target_id,
    COALESCE(m.batch_id, o.batch_id) AS batch_id,
    COALESCE(o.attempts::integer, (m.attempts + b.counted)::integer, q.attempts::integer, d.attempts::integer, l.attempts::integer, 0)::smallint AS attempts,
    COALESCE(o.state,
        CASE
            WHEN b.state = 1 AND b.leader_id = 0 THEN lane_task_state(( SELECT s.status
               FROM lane_batch s
              WHERE s.batch_id = b.id))
            WHEN b.state = 1 AND b.attempt > 0 THEN 2::smallint
            ELSE b.state
        END, 0::smallint) AS state
   FROM task t
     LEFT JOIN outcome o USING (seq)
     LEFT JOIN member m USING (seq)
     LEFT JOIN batch b ON b.id = m.batch_id
     LEFT JOIN queue q ON q.target_id = t.target_id AND q.priority = t.priority AND q.seq = t.seq
     LEFT JOIN delayed d ON d.seq = t.seq
     LEFT JOIN lane_queue l ON l.seq = t.seq;

create view state_count as
 SELECT queue.target_id,
    0::smallint AS state,
    count(*) AS n
   FROM queue
  GROUP BY queue.target_id
UNION ALL
 SELECT delayed.target_id,
    0::smallint AS state,
    count(*) AS n
   FROM delayed
  GROUP BY delayed.target_id
UNION ALL
 SELECT lane_queue.target_id,
    0::smallint AS state,
    count(*) AS n
   FROM lane_queue
  GROUP BY lane_queue.target_id
UNION ALL
 SELECT b.target_id,
        CASE
            WHEN b.state = 1 AND b.leader_id = 0 THEN lane_task_state(( SELECT s.status
               FROM lane_batch s
              WHERE s.batch_id = b.id))
            WHEN b.state = 1 AND b.attempt > 0 THEN 2::smallint
            ELSE b.state
        END AS state,
    sum(b.n - b.n_left) AS n
   FROM batch b
  WHERE b.state <> 7
  GROUP BY b.target_id, (
        CASE
            WHEN b.state = 1 AND b.leader_id = 0 THEN lane_task_state(( SELECT s.status
               FROM lane_batch s
              WHERE s.batch_id = b.id))
            WHEN b.state = 1 AND b.attempt > 0 THEN 2::smallint
            ELSE b.state
        END)
UNION ALL
 SELECT outcome.target_id,
    outcome.state,
    count(*) AS n
   FROM outcome
  GROUP BY outcome.target_id, outcome.state
UNION ALL
 SELECT held.target_id,
    0::smallint AS state,
    count(*) AS n
   FROM held
  GROUP BY held.target_id;

CREATE TRIGGER keep_audit BEFORE DELETE OR UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION keep_audit();
CREATE TRIGGER keep_audit_rows BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION keep_audit();
CREATE TRIGGER own_audit BEFORE INSERT OR UPDATE ON audit FOR EACH ROW EXECUTE FUNCTION own_audit();
CREATE TRIGGER note_batch_end BEFORE UPDATE OF state ON batch FOR EACH ROW WHEN ((new.state = ANY (ARRAY[4, 5, 6])) AND old.state <> new.state) EXECUTE FUNCTION note_batch_end();
CREATE TRIGGER note_outcomes AFTER INSERT ON outcome REFERENCING NEW TABLE AS new_outcomes FOR EACH STATEMENT EXECUTE FUNCTION note_outcomes();
CREATE TRIGGER keep_leader BEFORE INSERT ON target FOR EACH ROW EXECUTE FUNCTION keep_leader();

comment on column batch.state is '1 open, 3 unknown, 4 succeeded, 5 failed, 6 dead, 7 dissolved';
comment on column batch.reason is '0 size, 1 bytes, 2 weight, 3 linger, 4 quiet, 5 manual, 6 shutdown, 7 bisect, 8 split, 9 given';
comment on column bulk_action.state is '0 counting, 1 working, 2 done, 3 stopped';
comment on column cancellation.why is '0 caller, 1 deadline, 2 decision';
comment on column cancellation.state is '0 requested, 1 confirmed, 2 refused, 3 late, 4 unsupported, 5 withdrawn';
comment on column chunk.state is '2 filling, 0 ready, 1 taken, 100 done, -1 closed';
comment on column ended_dependency.state is '4 succeeded, 5 failed, 6 dead, 7 cancelled';
comment on column execution.state is '0 created, 1 in progress, 2 staging, 100 done, -3 cancelled, -4 deleted';
comment on column fanout.state is '0 open, 1 sealed, 2 complete, 3 expired, 4 deleted';
comment on column lane.kind is '0 guaranteed, 1 non-guaranteed';
comment on column lane.approach is '0 unconstrained, 1 serial, 2 parallel';
comment on column lane.on_invalid is '0 continue, 1 halt';
comment on column lane_batch.status is '0 unsubmitted, 1 delayed, 2 unknown, 3 submitted, 4 pending, 5 valid, 6 parked, 7 refused, 10 committed, 11 invalid, 12 skipped, 13 failed-dependency, 14 cancelled';
comment on column leader.state is '0 idle, 1 working, 2 waiting';
comment on column leader.last_reason is '0 size, 1 bytes, 2 weight, 3 linger, 4 quiet, 5 manual, 6 shutdown, 7 bisect, 8 split, 9 given';
comment on column outcome.state is '4 succeeded, 5 failed, 6 dead, 7 cancelled';
comment on column queuer.state is '0 idle, 1 working, 2 waiting';
comment on column queuer.strategy is '0 single, 1 per-service, 2 one-round, 3 multi-round';
comment on column task_dependency.state is '4 succeeded, 5 failed, 6 dead, 7 cancelled';
comment on column work_item.state is '0 created, 1 in progress, 100 done, -1 failed, -2 permanently failed';

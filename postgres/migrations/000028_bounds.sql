-- Up Migration

-- The one clock: stable, so that an index condition may use it. No setting moves it: any role may make one, and so delete
-- entries of the audit before their year is over. A test that moves it replaces it, as only its owner can.
create or replace function clock() returns timestamptz language sql stable as $$ select statement_timestamp() $$;

-- Takes the mark of the unused from those targets of a handler that have these keys, and returns them: they are looked
-- up. With the rights of its owner, since who submits may write no mark: a mark of long ago has a target deleted.
create function unmark_targets(of_handler int, keys text[]) returns table (id int, key text, leader_id int)
language plpgsql security definer as $$
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
end $$;

-- Returns the tasks that have these ids, and keeps them from being deleted until the caller's end. With the rights of its
-- owner, since who may lock a row may also write it.
create function lock_tasks(ids text[]) returns table (id text, seq bigint) language plpgsql security definer as $$
#variable_conflict use_column
begin
  return query
  select k.id, k.seq
  from task k
  where k.id = any(ids)
  order by k.id for key share;
end $$;

-- Their own tables only, whatever the caller's path or temporary tables are; plans as the store's sessions have them.
do $$ begin
  execute format('alter function unmark_targets set search_path = %I, pg_temp', current_schema());
  execute 'alter function unmark_targets set enable_seqscan = off';
  execute format('alter function lock_tasks set search_path = %I, pg_temp', current_schema());
  execute 'alter function lock_tasks set enable_seqscan = off';
end $$;

-- Who may store tasks may call them: the roles of `muster migrate roles`, or whom else the tables were granted to. Who may
-- only call `submit` holds no rows of others.
do $$
declare
  storer text;
begin
  revoke execute on function unmark_targets, lock_tasks from public;
  for storer in
    select distinct case a.grantee when 0 then 'public' else a.grantee::regrole::text end
    from pg_class c cross join lateral (
      select o.grantee, o.privilege_type
      from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) o
      union all
      select x.grantee, x.privilege_type
      from pg_attribute t cross join aclexplode(t.attacl) x
      where t.attrelid = c.oid) a
    where c.oid = 'task'::regclass and a.privilege_type = 'INSERT'
  loop
    execute format('grant execute on function unmark_targets, lock_tasks to %s', storer);
  end loop;
end $$;

-- Says whether this is a URL of http or https with a host in ASCII that is no Punycode: a part of what the client
-- library accepts by `URL.canParse`, which the database has not. At most URL_MAX bytes, which an index holds.
create or replace function is_url(value text) returns boolean language sql immutable as $$
  select coalesce(octet_length(value) <= 2000 and parts is not null and parts[1] !~* '(^|[.])xn--' and coalesce(parts[3], '0')::int <= 65535
    and (parts[1] !~ '(^|\.)\d+\.?$' or parts[1] ~ '^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$'), false)
  from regexp_match(value, '^https?://((?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*'
    '(?:[A-Za-z_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|\d{1,3})\.?)(:(\d{1,5}))?(?:[/?#].*)?$') parts
$$;

drop function utf16_length;

-- Keeps the leader of a new target, or leaves the target out where its leader is gone: who registers it looks again. In
-- place of the foreign key, whose check of each deleted leader would read all targets: an index of targets by leader
-- would be written by each ring and claim.
create function keep_leader() returns trigger language plpgsql as $$
begin
  perform from leader where id = new.leader_id for key share;
  return case when found then new end;
end $$;

-- A restore fills tables with an empty path.
do $$ begin
  execute format('alter function keep_leader set search_path = %I, pg_temp', current_schema());
end $$;

alter table target drop constraint target_leader_id_fkey;
create trigger keep_leader before insert on target for each row execute function keep_leader();

-- Down Migration

drop trigger keep_leader on target;
drop function keep_leader;
alter table target add constraint target_leader_id_fkey foreign key (leader_id) references leader;

-- Length of a text in the units in which the client library counts it: two for a character beyond U+FFFF.
create function utf16_length(value text) returns int language sql immutable as $$
  select length(value) + length(regexp_replace(value, '[\u0001-\uffff]', '', 'g'))
$$;

-- Says whether this is a URL of http or https with a host in ASCII that is no Punycode: a part of what the client
-- library accepts by `URL.canParse`, which the database has not.
create or replace function is_url(value text) returns boolean language sql immutable as $$
  select coalesce(utf16_length(value) <= 2000 and parts is not null and parts[1] !~* '(^|[.])xn--' and coalesce(parts[3], '0')::int <= 65535
    and (parts[1] !~ '(^|\.)\d+\.?$' or parts[1] ~ '^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(\.(?!$)|$)){4}$'), false)
  from regexp_match(value, '^https?://((?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*'
    '(?:[A-Za-z_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?|\d{1,3})\.?)(:(\d{1,5}))?(?:[/?#].*)?$') parts
$$;

drop function lock_tasks;
drop function unmark_targets;
-- The one clock: stable, so that an index condition may use it. Only tests set muster.clock.
create or replace function clock() returns timestamptz language sql stable as
  $$ select statement_timestamp() + coalesce(nullif(current_setting('muster.clock', true), ''), '0')::interval $$;

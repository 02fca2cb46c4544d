-- Up Migration

-- Entries of what agents change, by the Model Context Protocol: the API writes them, which names the door that its caller used.
alter table audit drop constraint audit_door_check;
alter table audit add constraint audit_door_check check (door in ('client', 'cli', 'api', 'mcp'));

-- As before; and who may only submit writes none as an agent, either, for which only the API writes.
create or replace function own_audit() returns trigger language plpgsql as $$
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
end $$;
do $$ begin
  execute format('alter function own_audit set search_path = %I, pg_temp', current_schema());
end $$;

-- Down Migration

create or replace function own_audit() returns trigger language plpgsql as $$
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
  if new.door = 'api' then
    raise exception 'Cannot write an entry of the audit as the API. Connect as a member of muster_worker.'
      using errcode = '42501';
  end if;
  new.origin := own;
  return new;
end $$;
do $$ begin
  execute format('alter function own_audit set search_path = %I, pg_temp', current_schema());
end $$;
-- Entries of agents stay: none is changed or deleted within a year.
alter table audit drop constraint audit_door_check;
alter table audit add constraint audit_door_check check (door in ('client', 'cli', 'api')) not valid;

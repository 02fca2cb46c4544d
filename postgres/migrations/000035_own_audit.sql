-- Up Migration

-- Who may only submit (muster_submit) writes and concludes entries of the audit as its login user, which they name as origin,
-- and none as the HTTP API. Others are not restricted.
create function own_audit() returns trigger language plpgsql as $$
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
create trigger own_audit before insert or update on audit for each row execute function own_audit();

-- Down Migration

drop trigger own_audit on audit;
drop function own_audit();

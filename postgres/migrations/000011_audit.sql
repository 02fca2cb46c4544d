-- Up Migration

-- Who changed what, when and from where. A row is written before the change, and gets its outcome after it; nothing
-- else of it changes, and none is deleted within a year.

create table audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock(),
  who text not null,
  door text not null,
  origin text,
  verb text not null,
  subject text not null,
  detail jsonb not null default '{}',
  outcome text,
  answer jsonb,
  constraint audit_door_check check (door in ('client', 'cli', 'api')),
  constraint audit_text_check check (octet_length(who) between 1 and 600 and octet_length(subject) between 1 and 4000)
);

create function keep_audit() returns trigger language plpgsql as $$
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
end $$;
create trigger keep_audit before update or delete on audit for each row execute function keep_audit();
create trigger keep_audit_rows before truncate on audit for each statement execute function keep_audit();

-- Down Migration

drop table audit;
drop function keep_audit();

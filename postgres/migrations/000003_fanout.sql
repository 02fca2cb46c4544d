-- Up Migration
-- Fan-outs: a growing set of items, a bit each, and exactly one "complete" (docs/systems/fanouts.md).
-- Lock order: rows of segment in (fanout_id, no) order, then rows of fanout in id order. An add writes the fanout's row first and only new segments after it.

-- Bit i of a segment is worth 2 ^ (i % 8) in byte i / 8, which is how Postgres counts the bits of a bytea (get_bit, set_bit), and
-- workflows/planning/fanouts/bits.ts too. Bits past the size are 0.
create function ones(n int) returns bytea immutable strict parallel safe language sql as
  $$ select decode(repeat('ff', n / 8) || case when n % 8 = 0 then '' else lpad(to_hex((1 << n % 8) - 1), 2, '0') end, 'hex') $$;
create function put_bits(bits bytea, indexes int[], value int) returns bytea immutable strict parallel safe language plpgsql as $$
declare
  i int;
begin
  foreach i in array indexes loop
    bits := set_bit(bits, i, value);
  end loop;
  return bits;
end $$;

-- Ends a statement, with nothing of it applied, over a race that shows only once the rows are locked.
create function refuse(why text) returns boolean volatile language plpgsql as $$
begin
  raise exception '%', why using errcode = 'MU001';
end $$;

create table fanout (
  id bigint generated always as identity primary key,
  public_id uuid not null unique default gen_random_uuid(),   -- in every item's id; may be the caller's choice, so that an open can be repeated
  user_key text check (octet_length(user_key) between 1 and 1024),
  state smallint not null default 0 check (state between 0 and 4),   -- open, sealed, complete, expired (unfinished, given up), deleted (its rows are going)
  segment_size smallint not null check (segment_size between 1 and 8000),
  segments int not null default 0 check (segments >= 0), items bigint not null default 0 check (items >= segments),
  open_segments int not null default 0 check (open_segments between 0 and segments),   -- segments that have a bit: completion rests on this alone
  initiator_id int references initiator,
  opened_at timestamptz not null, active_at timestamptz not null, sealed_at timestamptz, completed_at timestamptz, expired_at timestamptz,
  check (state <> 0 or sealed_at is null), check (state not in (1, 2) or sealed_at is not null),
  check (state <> 1 or open_segments > 0), check (completed_at is null or open_segments = 0),   -- sealed and nothing open is complete
  check (state <> 2 or completed_at is not null), check (state > 1 or completed_at is null),
  check (state <> 3 or expired_at is not null), check (state > 2 or expired_at is null)) with (fillfactor = 50);
create index fanout_idle on fanout (state, active_at);
create index fanout_initiator on fanout (initiator_id) where initiator_id is not null;

create table segment (
  fanout_id bigint not null references fanout, no int not null check (no >= 0),
  size smallint not null check (size between 1 and 8000), bits bytea not null,   -- 1: not acked
  primary key (fanout_id, no), check (octet_length(bits) = (size + 7) / 8))
  with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
alter table segment alter bits set storage plain;   -- never compressed: it is written again and again

create table fanout_add (                            -- adds that were given a key, so that they can be repeated
  fanout_id bigint not null references fanout, key text not null check (octet_length(key) between 1 and 256),
  first int not null, items int not null check (items > 0), primary key (fanout_id, key));

alter table notification add column fanout_id bigint;   -- of a fan-out's end: one a fan-out, whoever tries to tell it
create unique index notification_fanout on notification (fanout_id) where fanout_id is not null;

create function fanout_event(public_id uuid, user_key text, state smallint, items bigint, at timestamptz) returns jsonb stable language sql as
  $$ select jsonb_build_object('type', case state when 2 then 'fanout.completed' else 'fanout.expired' end, 'fanout', public_id, 'userKey', user_key,
       'items', items, 'endedAt', to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) $$;

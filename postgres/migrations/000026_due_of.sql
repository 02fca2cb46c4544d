-- Up Migration

-- When so many waiting tasks of a target are due: at once if they fill a batch or a flush covers the first of them,
-- else once the oldest has lingered, or none came for the quiet period, and no later than what else there is (others).
-- In plpgsql, since lower-due is planned at each run: as an expression in place of the call it cost a fifth more.
create function due_of(
  overrides jsonb,
  flush_seq bigint,
  overhead_bytes int,
  most_bytes bigint,
  min_items int,
  linger_ms bigint,
  quiet_ms bigint,
  n bigint,
  bytes bigint,
  weight float8,
  oldest timestamptz,
  newest timestamptz,
  first_seq bigint,
  max_items int,
  heaviest float8,
  others timestamptz) returns timestamptz language plpgsql stable as $$
begin
  return case
    when n >= max_items or bytes + overhead_bytes >= most_bytes or weight >= heaviest
      or first_seq <= flush_seq then clock()
    else least(
      oldest + coalesce((overrides->>'lingerMs')::bigint, linger_ms) * interval '1 ms',
      case when n >= coalesce((overrides->>'minItems')::int, min_items) then newest + coalesce(
        (overrides->>'quietPeriodMs')::bigint, quiet_ms) * interval '1 ms' end,
      others) end;
end $$;

-- When the waiting tasks of a target that coalesces are due; null: none waits. A function, so that the statement
-- lower-due, which serves all handlers, is not planned the longer for this.
create or replace function coalesced_due(of_target int, max_items int, heaviest float8, most int, prefix text)
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
    -- So many wait that what goes is as full as it may become.
    select due_of(t.overrides, t.flush_seq, h.overhead_bytes, h.max_bytes, h.min_items, h.linger_ms, h.quiet_ms,
      case when w.waiting >= most then coalesced_due.max_items else w.n end, w.bytes, w.weight, w.oldest, w.newest,
      w.first_seq, coalesced_due.max_items, coalesced_due.heaviest, null)
    from target t join handler h on h.id = t.handler_id
    where t.id = of_target and w.waiting > 0);
end $$;

-- Down Migration

-- When the waiting tasks of such a target are due, as the statement lower-due says it of others; null: none waits. A
-- function, so that that statement, which serves all handlers, is not planned the longer for this.
create or replace function coalesced_due(of_target int, max_items int, heaviest float8, most int, prefix text)
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

drop function due_of;

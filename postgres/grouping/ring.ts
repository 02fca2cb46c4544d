import { INSTALLATION } from '../installation';
import { WEIGHT_OF_TARGET } from '../limits/inForce';
import type { Queryable } from '../pool';
import { coalescedDue } from './coalesced';

/**
 * Time for a woken leader to take its turn before the sweeper wakes it again: the wake itself may
 * be lost (a client died, Temporal was unreachable). Short, because no work may wait for a leader
 * longer than 5 s. A leader that is merely slow gets one superfluous signal.
 */
export const WAKE_LEASE_MS = 3_000;

/** SQL of the tasks that fill a batch of the target. */
const MAX_ITEMS = "coalesce((t.overrides->>'maxItems')::int, h.max_items)";

/** SQL of the most weight of one of its batches; null: any. */
const HEAVIEST = `least(h.max_weight, ${WEIGHT_OF_TARGET}, h.weight_per_handler)`;

/** A leader to wake: what `signalWithStart` needs (its workflow id comes from `naming`). */
export interface WokenLeader {
  leaderId: number;
  handler: string;
  name: string;
  /** Installation of the store that has the leader. */
  installation: string;
  /** Ms after which a run that this wake starts has to look first. */
  dueInMs: number;
}

/**
 * Recomputes when the targets are due, from the queue, and only lowers it: step 1 of the ring. A
 * target that is due already is not read again (under a backlog that cost a seventh of the
 * database's work). Whether a batch is full is read (at most maxItems rows), never counted by
 * writing. It must agree with `cutBatches`, or a leader would be woken for nothing without end. Run
 * it as one autocommit statement after the commit that made the work, then `wakeLeaders` as
 * another: run as one statement, or inside the submit's transaction, they lose wakes
 * (docs/internals/ring-protocol.md).
 */
export const lowerDue = async (db: Queryable, targetIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'lower-due',
    text: `
update target t set due_at = greatest(d.hold_until, d.due_at)
from (
  select t.id, t.hold_until, case
    when h.coalesces then least(next.not_before, open.ready_at, ${coalescedDue(MAX_ITEMS, HEAVIEST)})
    when w.n is null then least(next.not_before, open.ready_at)
    else due_of(t.overrides, t.flush_seq, h.overhead_bytes, h.max_bytes, h.min_items, h.linger_ms, h.quiet_ms,
      w.n, w.bytes, w.weight, w.oldest, w.newest, w.first_seq, ${MAX_ITEMS}, ${HEAVIEST},
      least(next.not_before, open.ready_at)) end due_at
  from target t join handler h on h.id = t.handler_id left join lateral (
    select count(*) n, sum(e.bytes) bytes, sum(coalesce(e.weight, 1)) weight, min(e.ready_at) oldest,
      max(e.ready_at) newest, min(e.seq) first_seq
    from (
      select q.bytes, q.weight, q.ready_at, q.seq
      from queue q
      where not h.keyed and q.target_id = t.id
      order by q.priority, q.seq limit ${MAX_ITEMS}) e
    having not h.keyed and count(*) > 0
    union all select count(*), sum(e.bytes), sum(coalesce(e.weight, 1)), min(e.ready_at), max(e.ready_at), min(e.seq)
    from (
      select distinct on (q.key) q.*
      from (
        select q.key, q.bytes, q.weight, q.ready_at, q.seq, q.priority
        from queue q
        where h.keyed and q.target_id = t.id
        order by q.priority, q.seq limit 4 * h.max_items + 1000) q
      where not exists (select from busy_key b where b.target_id = t.id and b.key = q.key and b.seq <> q.seq)
      order by q.key, q.priority, q.seq) e
    having h.keyed and count(*) > 0) w on true
    left join lateral (
      select d.not_before
      from delayed d
      where d.target_id = t.id
      order by d.not_before limit 1) next on true
    left join lateral (
      select min(coalesce(b.retry_at, b.created_at)) ready_at
      from batch b
      where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null and b.reference is null
        and not b.refused and b.leader_id <> 0) open on true
  where t.id = any($1::int[]) and not t.busy and (t.due_at is null or t.due_at > clock())) d
where t.id = d.id and d.due_at is not null and (t.due_at is null or greatest(d.hold_until, d.due_at) < t.due_at)`,
    values: [targetIds],
  });
};

/**
 * Takes every leader of these targets that is idle, or waits for a time later than they are due,
 * and returns it for waking: step 2 of the ring, the election. An idle leader whose work lies ahead
 * is written as waiting for it: the run that the wake starts sleeps until then. `leaseMs`: how long
 * after its wake time a leader may be silent before the sweeper wakes it again.
 */
export const wakeLeaders = async (
  db: Queryable,
  targetIds: readonly number[],
  leaseMs: number,
): Promise<WokenLeader[]> => {
  const { rows } = await db.query<WokenLeader>({
    name: 'wake-leaders',
    text: `
update leader l set state = case when d.due_at > clock() then 2 /* waiting */ else 1 /* working */ end, wake_at = case
  when d.due_at > clock() then d.due_at end, blocked = false,
  expires_at = greatest(d.due_at, clock()) + $2 * interval '1 ms', woken_at = case
    when d.due_at <= clock() then clock() end
from (select t.leader_id, h.name, greatest(min(t.due_at), h.hold_until) due_at
      from target t join handler h on h.id = t.handler_id
      where t.id = any($1::int[]) and t.due_at is not null and not t.paused and not t.busy
        and h.paused_at is null group by t.leader_id, h.id) d
where l.id = d.leader_id and (l.state = 0 /* idle */ or l.state = 2 /* waiting */ and not l.blocked
  and l.wake_at > d.due_at)
returning l.id as "leaderId", d.name as handler, l.name, greatest(0, ceil(extract(epoch
  from d.due_at - clock()) * 1000))::float8 as "dueInMs", ${INSTALLATION} as installation`,
    values: [targetIds, leaseMs],
  });
  return rows;
};

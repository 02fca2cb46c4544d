import { coalescedHead } from '../grouping/coalesced';
import { CALLS_OF_TARGET } from '../limits/inForce';
import type { Overrides } from '../../workflows/planning/limits/limits';
import type { Queryable } from '../pool';

export interface FormingRow {
  key: string;
  leaderId: number;
  leader: string;
  pausedAt: Date | null;
  pauseReason: string | null;
  busy: boolean;
  holdInMs: number | null;
  dueInMs: number | null;
  delayed: number;
  inFlight: number;
  unknown: number;
  overrides: Record<string, number> | null;
  limitsSet: Overrides | null;
  maxItems: number;
  maxBytes: number | null;
  maxWeight: number | null;
  minItems: number;
  lingerMs: number;
  quietMs: number | null;
  perTarget: number;
  items: number;
  bytes: number;
  weight: number;
  oldestMs: number | null;
  newestMs: number | null;
  more: boolean;
  openBatches: { id: number; n: number; attempts: number; retryAt: string | null; reference: string | null }[];
}

const MOST_BATCHES = 20;

/**
 * Reads a target, and the batch that its waiting tasks would make now: at most as many rows as a
 * batch has, and one more; with `coalesceBy`, what would be sent of those that are collected. Null:
 * there is no such target.
 */
export const readForming = async (db: Queryable, handlerId: number, key: string): Promise<FormingRow | null> => {
  const { rows } = await db.query<FormingRow>({
    name: 'read-forming',
    text: `
with one as (
  select t.*, h.coalesces, h.max_bytes, h.overhead_bytes, ${CALLS_OF_TARGET} as calls_of_target, h.max_weight,
    coalesce((t.overrides->>'maxItems')::int, h.max_items) as max_items,
    coalesce((t.overrides->>'minItems')::int, h.min_items) as min_items,
    coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) as linger_ms,
    coalesce((t.overrides->>'quietPeriodMs')::bigint, h.quiet_ms) as quiet_ms
  from target t join handler h on h.id = t.handler_id
  where t.handler_id = $1 and t.key = $2)
select t.key, l.id as "leaderId", l.name as leader, t.paused_at as "pausedAt", t.pause_reason as "pauseReason", t.busy,
  case when t.hold_until > clock() then (extract(epoch from t.hold_until - clock()) * 1000)::float8 end as "holdInMs",
  (extract(epoch from t.due_at - clock()) * 1000)::float8 as "dueInMs",
  (select count(*) from delayed d where d.target_id = t.id) as delayed,
  (select coalesce(sum(b.n - b.n_left), 0)::bigint
   from batch b
   where b.target_id = t.id and b.state = 1 /* open */) as "inFlight",
  (select coalesce(sum(b.n - b.n_left), 0)::bigint
   from batch b
   where b.target_id = t.id and b.state = 3 /* unknown */
     and b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)) as unknown,
  t.overrides, t.limits as "limitsSet",
  t.max_items as "maxItems", t.max_bytes as "maxBytes", t.max_weight as "maxWeight",
  t.min_items as "minItems", t.linger_ms as "lingerMs", t.quiet_ms as "quietMs", t.calls_of_target as "perTarget",
  least(w.n, t.max_items) as items, coalesce(w.bytes, 0) + t.overhead_bytes as bytes, coalesce(w.weight, 0) as weight,
  (extract(epoch from clock() - w.oldest) * 1000)::float8 as "oldestMs",
  (extract(epoch from clock() - w.newest) * 1000)::float8 as "newestMs", w.n > t.max_items as more,
  coalesce((
    select json_agg(json_build_object('id', b.id, 'n', b.n - b.n_left, 'attempts', b.attempt, 'retryAt', b.retry_at,
      'reference', b.reference) order by b.id)
    from (
      select *
      from batch b
      where b.target_id = t.id and b.state = 1 /* open */
      order by b.id limit ${MOST_BATCHES}) b), '[]') as "openBatches"
from one t
join leader l on l.id = t.leader_id
cross join lateral (
  select count(*)::int as n, sum(q.bytes) filter (where q.place <= t.max_items)::bigint as bytes,
    sum(coalesce(q.weight, 1)) filter (where q.place <= t.max_items) as weight,
    min(q.ready_at) filter (where q.place <= t.max_items) as oldest,
    max(q.ready_at) filter (where q.place <= t.max_items) as newest
  from (
    select q.bytes, q.weight, q.ready_at, row_number() over (order by q.priority, q.seq) as place
    from (
      (select q.priority, q.seq, q.bytes, q.weight, q.ready_at
       from queue q
       where not t.coalesces and q.target_id = t.id
       order by q.priority, q.seq limit t.max_items + 1)
      union all select e.priority, e.seq, e.bytes, e.weight, e.since
      from ${coalescedHead('t.max_items')} e
      where t.coalesces and e.goes) q) q) w`,
    values: [handlerId, key],
  });
  return rows[0] ?? null;
};

import { READ_AT } from '../accepted/poll';
import { CANCELLATION_OF_BATCH } from '../accepted/cancellation';
import { STACK_OF_BATCH } from '../calls/fault';
import { CALLS_OF_TARGET, WEIGHT_OF_TARGET } from '../limits/inForce';
import type { Queryable } from '../pool';
import { COALESCE_PREFIX } from '../../workflows/planning/grouping/coalescing';
import { coalescedCount, coalescedHead } from '../grouping/coalesced';
import { SLOTS_TAKEN } from '../grouping/slots';

/**
 * Everything that `workflows/planning/explain/index.ts` decides from, for one task; names and
 * states as they are stored.
 */
export interface ExplainRow {
  id: string;
  state: number;
  attempts: number;
  error: string | null;
  handler: Record<string, unknown> & { name: string };
  target: Record<string, unknown>;
  leader: Record<string, unknown> & { state: number; id: number; name: string; unansweredMs: number | null };
  queued: Record<string, unknown> | null;
  held: Record<string, unknown> | null;
  delayedInMs: number | null;
  expiresAt: Date | null;
  batch: Record<string, unknown> | null;
  timersLateMs: number | null;
}

/**
 * Reads all facts about one task in one statement, so of one instant. Reads the head of the queue
 * as `lowerDue` does. `nodeLiveMs`: a node that was not seen for this long serves nothing.
 */
export const readExplainFacts = async (db: Queryable, id: string, nodeLiveMs: number): Promise<ExplainRow | null> => {
  const { rows } = await db.query<ExplainRow>({ name: 'read-explain-facts', text: FACTS, values: [id, nodeLiveMs] });
  return rows[0] ?? null;
};

/** SQL of milliseconds from now; negative: past. */
const inMs = (time: string): string => `(extract(epoch from ${time} - clock()) * 1000)::float8`;

const HANDLER = `json_build_object('name', h.name, 'paused', h.paused_at is not null, 'pauseReason', h.pause_reason,
  'holdInMs', ${inMs('h.hold_until')},
  'perTarget', least(${CALLS_OF_TARGET}, t.allowed), 'perHandler', least(h.per_handler, h.allowed),
  'slotsTaken', ${SLOTS_TAKEN}, 'weightPerTarget', ${WEIGHT_OF_TARGET},
  'limitsSet', h.limits, 'sharesLimit', (
    select s.name
    from shared_limit s
    where s.id = h.shares), 'sharedLimitSet', (
    select s.limits
    from shared_limit s
    where s.id = h.shares), 'served', exists (select from node n where h.name = any(n.handlers) and not n.draining
    and n.seen_at > clock() - $2 * interval '1 ms'))`;

const TARGET = `json_build_object('key', t.key, 'paused', t.paused, 'pauseReason', t.pause_reason, 'busy', t.busy,
  'holdInMs', ${inMs('t.hold_until')}, 'dueInMs', ${inMs('t.due_at')},
  'inFlight', (select count(*) from batch b where b.target_id = t.id and b.state = 1 /* open */
    and b.dispatch is not null),
  'weight', (select coalesce(sum(b.weight), 0) from batch b where b.target_id = t.id and b.state = 1 /* open */),
  'limitsSet', t.limits, 'maxItems', o.max_items, 'minItems', o.min_items, 'lingerMs', o.linger_ms,
  'quietMs', o.quiet_ms)`;

const LEADER = `json_build_object('id', l.id, 'name', l.name, 'state', l.state, 'wakeInMs', ${inMs('l.wake_at')},
  'expiresInMs', ${inMs('l.expires_at')},
  'blocked', l.blocked, 'heldBy', l.answer->>'heldBy',
  'unansweredMs', case when l.state = 1 /* working */ then -${inMs('l.woken_at')} end, 'runId', l.holder)`;

const QUEUED = `case when q.seq is not null then json_build_object('key', q.key,
  'ahead', (select count(*) from (select from queue a where a.target_id = q.target_id and (a.priority,
    a.seq) < (q.priority, q.seq) limit 10000) a),
  'keyHolder', case when h.keyed and q.key is not null then coalesce(
    (select x.id from busy_key b join task x on x.seq = b.seq where b.target_id = q.target_id and b.key = q.key
      and b.seq <> q.seq),
    (select x.id from queue a join task x on x.seq = a.seq where a.target_id = q.target_id and a.key = q.key
      and (a.priority, a.seq) < (q.priority, q.seq)
      order by a.priority, a.seq limit 1)) end,
  'successor', case when h.coalesces then (
    select x.id
    from ${coalescedHead('o.max_items')} e join task x on x.seq = e.seq
    where starts_with(e.key, '${COALESCE_PREFIX}') and e.key = k.key and e.goes and e.seq > k.seq) end,
  'waiting', w.n, 'oldestMs', -${inMs('w.oldest')}, 'newestMs', -${inMs('w.newest')}, 'flushed',
    coalesce(w.first_seq <= t.flush_seq, false),
  'full', coalesce(w.bytes + h.overhead_bytes >= h.max_bytes, false) or coalesce(w.weight >= least(h.max_weight,
    ${WEIGHT_OF_TARGET}, h.weight_per_handler), false)) end`;

const BATCH = `case when b.id is not null then json_build_object('id', b.id, 'n', b.n - b.n_left, 'attempt',
  b.attempt, 'dispatched', b.dispatch is not null,
  'attemptBy', b.attempt_by, 'nodeSeenMs', (select -${inMs('n.seen_at')} from node n where n.id = b.attempt_by),
    'attemptEndsInMs', ${inMs('b.attempt_until')}, 'retryInMs', ${inMs('b.retry_at')}, 'reference', b.reference,
    'pollInMs', ${inMs('b.poll_at')}, 'pollEndsInMs', ${inMs('b.poll_until')}, 'readAgoMs', -${inMs(READ_AT)},
  'refused', b.refused, 'refusals', b.refusals, 'error', b.error, 'stack', ${STACK_OF_BATCH}, 'cancellation',
    ${CANCELLATION_OF_BATCH}) end`;

const HELD = `(select json_build_object('dependencies', count(*), 'open', count(*) filter (where y.state is null),
    'ids', coalesce(json_agg(y.needs_id order by y.place) filter (where y.state is null and y.early <= 5), '[]'))
  from (
    select n.*, count(*) filter (where n.state is null) over (order by n.place) as early
    from task_dependency n join held x on x.seq = n.seq
    where n.seq = k.seq) y
  having count(*) > 0)`;

const FACTS = `
select s.id, s.state, s.attempts, coalesce(e.error, b.error) as error, ${HANDLER} as handler, ${TARGET} as target,
  ${LEADER} as leader, ${QUEUED} as queued,
  ${HELD} as held, ${inMs('d.not_before')} as "delayedInMs",
  coalesce(y.expires_at, y.at) as "expiresAt", ${BATCH} as batch, (
    select max(n.timers_late_ms)
    from node n
    where n.seen_at > clock() - $2 * interval '1 ms') as "timersLateMs"
from task_state s join task k on k.seq = s.seq join target t on t.id = k.target_id
  join handler h on h.id = t.handler_id join leader l on l.id = t.leader_id cross join lateral (
    select coalesce((t.overrides->>'maxItems')::int, h.max_items) as max_items,
      coalesce((t.overrides->>'minItems')::int, h.min_items) as min_items,
      coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) as linger_ms,
      coalesce((t.overrides->>'quietPeriodMs')::bigint, h.quiet_ms) as quiet_ms) o
  left join outcome e on e.seq = k.seq left join member m on m.seq = k.seq left join batch b on b.id = m.batch_id
  left join expiry y on y.seq = k.seq
  left join delayed d on d.seq = k.seq left join queue q on q.target_id = k.target_id and q.priority = k.priority
    and q.seq = k.seq left join lateral (
      select count(*) as n, sum(f.bytes) as bytes, sum(coalesce(f.weight, 1)) as weight, min(f.ready_at) as oldest,
        max(f.ready_at) as newest, min(f.seq) as first_seq
      from (
        select *
        from (
          select distinct on (
            case when h.keyed then g.key end, case when h.keyed and g.key is not null then 0 else g.seq end) g.*
          from (
            select *
            from queue g
            where q.seq is not null and g.target_id = t.id
            order by g.priority, g.seq limit case when h.keyed then 4 * h.max_items + 1000 else o.max_items end) g
          where not h.keyed
            or not exists (select from busy_key x where x.target_id = t.id and x.key = g.key and x.seq <> g.seq)
          order by case when h.keyed then g.key end, case when h.keyed and g.key is not null then 0 else g.seq end,
            g.priority, g.seq) g
        order by g.priority, g.seq limit o.max_items) f
      having not h.coalesces
      union all select least(${coalescedCount('o.max_items')}, o.max_items), sum(e.bytes) filter (where e.goes),
        sum(coalesce(e.weight, 1)) filter (where e.goes), min(e.ready_at), max(e.ready_at), min(e.seq)
      from ${coalescedHead('o.max_items')} e
      where h.coalesces and q.seq is not null
      having h.coalesces) w on true
where s.id = $1`;

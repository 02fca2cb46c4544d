import type { Invariant } from './invariant';
import { ATTENDED, GRACE, ofTable, OVERDUE, SILENT, UNANSWERED } from './invariant';

/**
 * Flow: nothing is stuck. Whatever waits has a time, and a leader or sweeper that looks at it then.
 * What only a worker can keep up (its sweeper mends lost rings, its leaders look) is checked where
 * a worker has been alive for a while, or should have been: where all have stopped, waiting is no
 * fault.
 */

const LATE = `(t.due_at is null or t.due_at > greatest(clock(), t.hold_until, w.at) + ${GRACE})`;

/** Names the task: the second look must find the same task, not the next one in passing. */
const TASK = `(select k.id from task k where k.seq = w.seq) as task`;

export const flow: readonly Invariant[] = [
  {
    name: 'a ready task makes its target due',
    passing: true,
    ...ofTable(
      'target',
      `
select h.name as handler, t.key as target, 'queue' as waits, ${TASK}
from looked t join handler h on h.id = t.handler_id cross join lateral (
  select q.seq, q.ready_at + coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) * interval '1 ms' as at
  from (
    select *
    from queue q
    where q.target_id = t.id
    order by q.priority, q.seq limit case when h.keyed then 4 * h.max_items + 1000 else 1 end) q
  where not h.keyed
    or not exists (select from busy_key k where k.target_id = t.id and k.key = q.key and k.seq <> q.seq)
  order by q.priority, q.seq limit 1) w
where not t.busy and ${LATE} and ${ATTENDED}
order by t.id limit 20`,
    ),
  },
  {
    name: 'a delayed task makes its target due',
    passing: true,
    ...ofTable(
      'target',
      `
select h.name as handler, t.key as target, 'delayed' as waits, ${TASK}
from looked t join handler h on h.id = t.handler_id cross join lateral (
  select d.seq, d.not_before as at
  from delayed d
  where d.target_id = t.id
  order by d.not_before limit 1) w
where not t.busy and ${LATE} and ${ATTENDED}
order by t.id limit 20`,
    ),
  },
  {
    name: 'a waiting batch makes its target due',
    passing: true,
    ...ofTable(
      'target',
      `
select h.name as handler, t.key as target, w.id as batch
from looked t join handler h on h.id = t.handler_id cross join lateral (
  select b.id, coalesce(b.retry_at, b.created_at) as at
  from batch b
  where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null and b.reference is null and not b.refused
    and b.leader_id <> 0
  order by at limit 1) w
where not t.busy and ${LATE} and ${ATTENDED}
order by t.id limit 20`,
    ),
  },
  {
    name: 'a due target has a leader that looks in time',
    passing: true,
    ...ofTable(
      'leader',
      `
select h.name as handler, t.key as target, l.name as leader, l.state
from looked l join handler h on h.id = l.handler_id cross join lateral (
  select t.id, t.key
  from target t
  where t.leader_id = l.id and t.due_at is not null and not t.paused and not t.busy
    and greatest(t.due_at, h.hold_until) < clock() - ${GRACE}
  order by t.due_at limit 20) t
where h.paused_at is null and (l.state = 0 /* idle */
  or l.expires_at < clock() - ${SILENT}
  or (l.state = 2 /* waiting */ and not l.blocked and l.wake_at > clock()))
  and ${ATTENDED}
order by t.id limit 20`,
    ),
  },
  {
    // Its lease does not count: the sweeper renews that whenever it wakes the leader again.
    name: 'a woken leader takes a turn',
    passing: true,
    ...ofTable(
      'leader',
      `
select h.name as handler, l.name as leader, l.woken_at as "wokenAt", l.holder as run
from looked l join handler h on h.id = l.handler_id
where l.state = 1 /* working */ and l.woken_at < clock() - ${UNANSWERED} and ${ATTENDED}
order by l.woken_at, l.id limit 20`,
    ),
  },
  {
    name: 'a call is concluded after its deadline',
    passing: true,
    ...ofTable(
      'leader',
      `
select h.name as handler, b.id as batch, b.attempt, b.attempt_by as node, b.attempt_until as deadline
  from looked l join handler h on h.id = l.handler_id
  join batch b on b.leader_id = l.id and b.state = 1 /* open */
where b.dispatch is not null and b.attempt_until < clock() - ${OVERDUE} and ${ATTENDED} order by b.id limit 20`,
    ),
  },
  {
    name: 'a busy target has something in flight',
    passing: true,
    ...ofTable(
      'leader',
      `
select h.name as handler, t.key as target, l.name as leader
from looked l join target t on t.leader_id = l.id join handler h on h.id = t.handler_id
where t.busy and (l.state = 0 /* idle */ or l.expires_at < clock() - ${SILENT}) and ${ATTENDED} and (
  select count(*)
  from batch b
  where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is not null)
    < least(coalesce(t.per_target, h.per_target), t.allowed)
  and (coalesce(t.weight_per_target, h.weight_per_target) is null
    or (
      select coalesce(sum(b.weight), 0)
      from batch b
      where b.target_id = t.id and b.state = 1 /* open */) < coalesce(t.weight_per_target, h.weight_per_target)
    or exists (
      select from batch b
      where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null and b.reference is null
        and not b.refused))
order by t.id limit 20`,
    ),
  },
  {
    // An idle leader has adopted what its dead dispatches left; a silent one is woken to do it.
    name: 'a carried batch has a dispatch that lives',
    passing: true,
    ...ofTable(
      'leader',
      `
select b.id as batch, b.dispatch, l.name as leader, l.state
from looked l join batch b on b.leader_id = l.id
where b.state = 1 /* open */ and b.dispatch is not null and (l.state = 0 /* idle */
  or (l.expires_at < clock() - ${SILENT}
    and not exists (select from dispatch d where d.leader_id = b.leader_id and d.no = b.dispatch)))
  and ${ATTENDED}
order by b.id limit 20`,
    ),
  },
  {
    name: 'an accepted batch is asked about',
    passing: true,
    text: `
select id as batch, reference
from batch
where state = 1 /* open */ and reference is not null and poll_at is null and attempt_until is null and not refused
order by id limit 20`,
  },
  {
    name: 'a refused half has an open other half',
    ...ofTable(
      'batch',
      `
select b.id as batch, b.parent_id as parent
from looked b
where b.state = 1 /* open */ and b.refused and not exists (
  select from batch o
  where o.parent_id = b.parent_id and o.id <> b.id and o.depth = b.depth and o.state = 1 /* open */ and not o.refused)
order by b.id limit 20`,
    ),
  },
];

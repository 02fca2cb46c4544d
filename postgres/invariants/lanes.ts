import type { Invariant } from './invariant';
import { ATTENDED, GRACE, ofTable, OVERDUE, SILENT, UNANSWERED } from './invariant';

/** Lanes: every batch at its place, nothing overtaken, nothing forgotten. */

/** Lanes that send one batch after the other, the next only after the one before was committed. */
const STRICT = `(l.on_invalid = 1 /* halt */ or l.approach = 1 /* serial */ and l.kind = 1 /* non-guaranteed */)`;

export const lanes: readonly Invariant[] = [
  {
    name: 'a lane has its state',
    ...ofTable(
      'lane',
      `
select l.service, l.id as lane
from looked l left join lane_state s on s.lane_id = l.id
where s.lane_id is null or s.queuer_id <> l.queuer_id
order by 2 limit 20`,
    ),
  },
  {
    name: 'a batch stands in the lane that its target feeds',
    ...ofTable(
      'lane_batch',
      `
select s.batch_id as batch, l.service, t.key as target
from looked s join batch b on b.id = s.batch_id join target t on t.id = b.target_id join lane l on l.id = s.lane_id
where s.target_id <> b.target_id
  or t.lane_id is distinct from s.lane_id
  or t.handler_id <> s.handler_id
  or b.leader_id <> 0
order by s.batch_id limit 20`,
    ),
  },
  {
    name: 'the members of a batch in a lane stand in the order of the lane',
    ...ofTable(
      'lane_batch',
      `
select s.batch_id as batch, l.service, b.members[1:20] as members
from looked s join lane l on l.id = s.lane_id join batch b on b.id = s.batch_id
where b.members <> array(select u.seq from unnest(b.members) u (seq) order by u.seq)
order by s.batch_id limit 20`,
    ),
  },
  {
    name: 'an open batch of a lane has a place in it',
    ...ofTable(
      'batch',
      `
select b.id as batch, b.state
from looked b
where b.leader_id = 0 and b.state in (1 /* open */, 3 /* unknown */)
  and not exists (select from lane_batch s where s.batch_id = b.id and s.status < 10 /* open */)
order by b.id limit 20`,
    ),
  },
  {
    name: 'the status in the lane agrees with the batch',
    ...ofTable(
      'lane_batch',
      `
select s.batch_id as batch, s.status, b.state
from looked s join batch b on b.id = s.batch_id
where case when s.status = 6 /* parked */ then b.state <> 3 /* unknown */
    when s.status < 10 /* open */ then b.state <> 1 /* open */
    when s.status = 10 /* committed */ then b.state <> 4 /* succeeded */
    when s.status = 14 /* cancelled */ then b.state <> 7 /* dissolved */
    else b.state not in (5 /* failed */, 7 /* dissolved */) end
  or (s.status = 3 /* submitted */) <> (b.dispatch is not null)
  or s.status = 3 /* submitted */ and b.dispatch is distinct from s.submitter
  or s.status = 4 /* pending */ and b.reference is null
order by s.batch_id limit 20`,
    ),
  },
  {
    name: 'a lane counts what is in flight',
    ...ofTable(
      'lane',
      `
select l.service, s.pending, coalesce(o.n, 0)::int as found
from looked l join lane_state s on s.lane_id = l.id left join (
  select lane_id, count(*) as n
  from lane_batch
  where status in (3 /* submitted */, 4 /* pending */, 5 /* valid */)
  group by 1) o on o.lane_id = l.id
where s.pending <> coalesce(o.n, 0)
order by l.service limit 20`,
    ),
  },
  {
    name: 'a serial lane has one batch in flight, its first',
    text: `
select l.service, f.batch_id as batch, o.batch_id as before
from lane_batch f join lane l on l.id = f.lane_id cross join lateral (
  select o.batch_id
  from lane_batch o
  where o.lane_id = l.id and o.status < 10 /* open */ and o.status <> 7 /* refused */ and o.seq < f.seq
  order by o.seq limit 1) o
where f.status in (3 /* submitted */, 4 /* pending */, 5 /* valid */) and ${STRICT}
order by f.batch_id limit 20`,
  },
  {
    name: 'batches that conflict are not in flight together',
    text: `
select l.service, a.batch_id as batch, b.batch_id as other
from lane l join lane_batch a on a.lane_id = l.id and a.status in (3 /* submitted */, 4 /* pending */, 5 /* valid */)
  join lane_batch b on b.lane_id = l.id and b.status in (3 /* submitted */, 4 /* pending */, 5 /* valid */)
    and b.seq > a.seq
where l.approach = 2 /* parallel */ and l.kind = 1 /* non-guaranteed */ and (a.writes && (b.reads || b.writes)
  or b.writes && a.reads
  or cardinality(a.reads || a.writes) = 0
  or cardinality(b.reads || b.writes) = 0)
order by a.batch_id limit 20`,
  },
  {
    name: 'what depends on a batch that is not committed was not sent',
    ...ofTable(
      'dependency',
      `
select d.batch_id as batch, s.status, d.needs, n.status as "statusOfNeeded"
from looked d join lane_batch s on s.batch_id = d.batch_id join lane_batch n on n.batch_id = d.needs
  join batch b on b.id = d.needs
where n.status <> 10 /* committed */
  -- The downstream was told to keep them in order, and had the first, or what it was a part of.
  and not (d.handed and n.handler_id = s.handler_id and (b.attempt > 0 or b.parent_id is not null))
  and s.status not in (0 /* unsubmitted */, 12 /* skipped */, 13 /* failed-dependency */, 14 /* cancelled */)
order by d.batch_id, d.needs limit 20`,
    ),
  },
  {
    name: 'a lane is halted by one of its batches',
    text: `
select l.service, s.halted_by as batch
from lane_state s join lane l on l.id = s.lane_id join lane_batch o on o.batch_id = s.halted_by
where o.lane_id <> l.id
  or o.status not in (6 /* parked */, 11 /* invalid */, 12 /* skipped */, 13 /* failed-dependency */)
order by l.service limit 20`,
  },
  {
    name: 'a parked batch halts its lane',
    ...ofTable(
      'lane_batch',
      `
select l.service, o.batch_id as batch
from looked o join lane l on l.id = o.lane_id join lane_state s on s.lane_id = l.id
where o.status = 6 /* parked */ and s.halted_by is null
order by o.batch_id limit 20`,
    ),
  },
  {
    name: 'a task waits in the lane that its target feeds',
    ...ofTable(
      'lane_queue',
      `
select t.id, q.lane_id as lane, g.lane_id as "laneOfTarget"
from looked q join task t on t.seq = q.seq join target g on g.id = t.target_id
where g.lane_id is distinct from q.lane_id or g.id <> q.target_id
order by q.seq limit 20`,
    ),
  },
  {
    // No batch of the lane is in flight, and no answer is awaited: a queuer must look.
    name: 'a lane that may go on is looked at',
    passing: true,
    ...ofTable(
      'lane',
      `
select l.service, h.batch_id as batch
from looked l join lane_state s on s.lane_id = l.id cross join lateral (
  select *
  from lane_batch o
  where o.lane_id = l.id and o.status < 10 /* open */ and o.status <> 7 /* refused */
  order by o.seq limit 1) h
where h.status in (0 /* unsubmitted */, 1 /* delayed */, 2 /* unknown */) and not s.ready and s.paused_at is null
  and s.halted_by is null
  and (s.due_at is null or s.due_at > greatest(clock(), h.not_before, s.hold_until) + ${GRACE} + interval '1 hour')
  and not exists (
    select from dependency d join lane_batch n on n.batch_id = d.needs and n.status < 10 /* open */
      join handler c on c.id = h.handler_id
    where d.batch_id = h.batch_id and not (c.hands_dependencies and n.handler_id = c.id
      and n.status in (4 /* pending */, 5 /* valid */)))
  and not exists (
    select from lane_batch o
    where o.lane_id = l.id and o.status in (3 /* submitted */, 4 /* pending */, 5 /* valid */))
  and ${ATTENDED}
order by l.service limit 20`,
    ),
  },
  {
    name: 'a queuer with work and free submitters looks in time',
    passing: true,
    text: `
select q.id as queuer, q.state
from queuer q
where q.paused_at is null and (q.state = 0 /* idle */ or q.expires_at < clock() - ${SILENT}) and exists (
  select from lane_state s
  where s.queuer_id = q.id and s.paused_at is null and s.halted_by is null
    and (s.ready or s.due_at < clock() - ${GRACE}))
  and coalesce((select sum(m.slots) from submitter m where m.queuer_id = q.id), 0) < q.slots and ${ATTENDED}
order by q.id limit 20`,
  },
  {
    name: 'a woken queuer takes a turn',
    passing: true,
    text: `
select q.id as queuer, q.woken_at as "wokenAt", q.holder as run
from queuer q
where q.state = 1 /* working */ and q.woken_at < clock() - ${UNANSWERED} and ${ATTENDED}
order by q.id limit 20`,
  },
  {
    name: 'a call of a lane is concluded after its deadline',
    passing: true,
    text: `
select l.service, s.batch_id as batch, b.attempt, b.attempt_by as node, b.attempt_until as deadline
from lane_batch s join lane l on l.id = s.lane_id join batch b on b.id = s.batch_id
where s.status = 3 /* submitted */ and b.dispatch is not null and b.attempt_until < clock() - ${OVERDUE}
  and ${ATTENDED} order by s.batch_id limit 20`,
  },
  {
    name: 'a granted batch has a submitter that lives',
    passing: true,
    text: `
select s.batch_id as batch, s.submitter
from lane_batch s
where s.status = 3 /* submitted */
  and not exists (select from submitter m where m.no = s.submitter and m.expires_at > clock() - ${SILENT})
  and ${ATTENDED}
order by s.batch_id limit 20`,
  },
];

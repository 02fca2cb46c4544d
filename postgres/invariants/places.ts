import type { Invariant } from './invariant';
import { ofTable, wholeTable } from './invariant';

/** Places: every task is in exactly one, and the place agrees with the task. */
export const places: readonly Invariant[] = [
  {
    name: 'a task is in exactly one place',
    ...ofTable(
      'task',
      `
select t.id, t.seq, array_remove(array[case when d.seq is not null then 'delayed' end, case
  when x.seq is not null then 'held' end, case when l.seq is not null then 'lane' end,
  case when m.seq is not null then 'member' end,
  case when o.seq is not null then 'outcome' end, case when q.seq is not null then 'queue' end], null) as places
from looked t left join delayed d on d.seq = t.seq left join lane_queue l on l.seq = t.seq
  left join held x on x.seq = t.seq
  left join member m on m.seq = t.seq left join outcome o on o.seq = t.seq
  left join queue q on q.target_id = t.target_id and q.priority = t.priority and q.seq = t.seq
where num_nonnulls(d.seq, x.seq, l.seq, m.seq, o.seq, q.seq) <> 1 order by t.seq limit 20`,
    ),
  },
  {
    name: 'what is queued is a task, and the same of it',
    ...ofTable(
      'queue',
      `
select t.id, p.seq, p.target_id as "targetId", t.target_id as "targetOfTask"
from looked p left join task t on t.seq = p.seq
where t.seq is null or (p.target_id, p.priority, p.bytes) <> (t.target_id, t.priority, t.bytes)
  or (p.key, p.weight) is distinct from (t.key, t.weight)
order by p.seq limit 20`,
    ),
  },
  {
    name: 'what is delayed is a task, and the same of it',
    ...ofTable(
      'delayed',
      `
select t.id, p.seq, p.target_id as "targetId", t.target_id as "targetOfTask"
from looked p left join task t on t.seq = p.seq
where t.seq is null or (p.target_id, p.priority, p.bytes) <> (t.target_id, t.priority, t.bytes)
  or (p.key, p.weight) is distinct from (t.key, t.weight)
order by p.seq limit 20`,
    ),
  },
  {
    name: 'what waits in a lane is a task of its target',
    ...ofTable(
      'lane_queue',
      `
select t.id, p.seq, p.target_id as "targetId", t.target_id as "targetOfTask"
from looked p left join task t on t.seq = p.seq
where t.seq is null or p.target_id <> t.target_id
order by p.seq limit 20`,
    ),
  },
  {
    name: 'a member is a task',
    ...ofTable(
      'member',
      `
select m.seq, m.batch_id as batch
from looked m left join task t on t.seq = m.seq
where t.seq is null
order by m.seq limit 20`,
    ),
  },
  {
    name: 'an outcome is of a task of its target',
    ...ofTable(
      'outcome',
      `
select t.id, o.seq, o.target_id as "targetId", t.target_id as "targetOfTask"
from looked o left join task t on t.seq = o.seq
where t.seq is null or o.target_id <> t.target_id
order by o.seq limit 20`,
    ),
  },
  {
    name: 'a task has a target',
    ...ofTable(
      'task',
      `
select t.id, t.seq, t.target_id as "targetId"
from looked t left join target g on g.id = t.target_id
where g.id is null
order by t.seq limit 20`,
    ),
  },
  {
    name: 'accepted tasks are the sum of the states',
    ...wholeTable(
      'task',
      `
select h.name as handler, coalesce(a.n, 0)::bigint as accepted, coalesce(s.n, 0)::bigint as counted, s.states
from handler h left join (
  select t.handler_id, sum(k.n)::bigint as n
  from (select target_id, count(*) as n from task group by 1) k join target t on t.id = k.target_id
  group by 1) a on a.handler_id = h.id
  left join (
    select c.handler_id, sum(c.n)::bigint as n, json_object_agg(c.state, c.n) as states
    from (
      select t.handler_id, c.state, sum(c.n)::bigint as n
      from state_count c join target t on t.id = c.target_id
      group by 1, 2) c
    group by 1) s on s.handler_id = h.id
where coalesce(a.n, 0) <> coalesce(s.n, 0)
order by h.name limit 20`,
    ),
  },
];

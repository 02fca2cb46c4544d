import type { Invariant } from './invariant';

/** Every task is in exactly one place, and the place says the same of it. */

const PLACES = `
  select seq, 'queue' as place from queue union all select seq, 'delayed' from delayed
  union all select seq, 'member' from member union all select seq, 'outcome' from outcome
  union all select seq, 'lane' from lane_queue`;

export const places: readonly Invariant[] = [
  {
    name: 'a task is in exactly one place',
    text: `
select t.id, t.seq, array_remove(array_agg(p.place order by p.place), null) as places from task t left join (${PLACES}) p on p.seq = t.seq
group by t.seq having count(p.place) <> 1 order by t.seq limit 20`,
  },
  {
    name: 'a place belongs to a task',
    text: `select p.seq, p.place from (${PLACES}) p left join task t on t.seq = p.seq where t.seq is null order by p.seq, p.place limit 20`,
  },
  {
    name: 'a place agrees with its task',
    text: `
select t.id, t.seq, p.place, p.target_id as "targetId", t.target_id as "targetOfTask" from (
  select seq, 'queue' as place, target_id, priority, key from queue union all select seq, 'delayed', target_id, priority, key from delayed) p
join task t on t.seq = p.seq where (p.target_id, p.priority) <> (t.target_id, t.priority) or p.key is distinct from t.key
union all
select t.id, t.seq, 'outcome', o.target_id, t.target_id from outcome o join task t on t.seq = o.seq where o.target_id <> t.target_id
limit 20`,
  },
  {
    name: 'a task has a target',
    text: `
select t.id, t.seq, t.target_id as "targetId" from task t left join target g on g.id = t.target_id where g.id is null order by t.seq limit 20`,
  },
  {
    name: 'accepted tasks are the sum of the states',
    text: `
select h.name as handler, coalesce(a.n, 0)::bigint as accepted, coalesce(s.n, 0)::bigint as counted, s.states
from handler h
left join (select t.handler_id, sum(k.n)::bigint as n from (select target_id, count(*) as n from task group by 1) k join target t on t.id = k.target_id group by 1) a
  on a.handler_id = h.id
left join (
  select c.handler_id, sum(c.n)::bigint as n, json_object_agg(c.state, c.n) as states from (
    select t.handler_id, c.state, sum(c.n)::bigint as n from state_count c join target t on t.id = c.target_id group by 1, 2) c group by 1) s on s.handler_id = h.id
where coalesce(a.n, 0) <> coalesce(s.n, 0) order by h.name limit 20`,
  },
];

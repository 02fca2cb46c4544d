import type { Invariant } from './invariant';
import { ofTable } from './invariant';

/** Dependencies of tasks: what is held waits for something that will end it. */
export const dependencies: readonly Invariant[] = [
  {
    name: 'a held task waits for one that has not ended',
    passing: true,
    // An end that is noted is worked off next.
    ...ofTable(
      'held',
      `
select k.id, array_agg(d.needs_id order by d.place) filter (where d.seq is not null and d.state is null) as "waitsFor"
from looked x join task k on k.seq = x.seq left join task_dependency d on d.seq = x.seq
  left join lateral (select s.state from task_state s where d.state is null and s.seq = d.needs) s on true
group by k.id, k.seq
having not coalesce(bool_or(d.state is null and s.state < 4 /* ended */), false)
  and not coalesce(bool_or(exists (
    select from ended_dependency e
    where d.state is null and e.seq = d.needs)), false)
order by k.seq limit 20`,
    ),
  },
  {
    name: 'a held task has none that ended as it must not',
    passing: true,
    ...ofTable(
      'held',
      `
select k.id, d.needs_id as "dependsOn", d.state
from looked x join task k on k.seq = x.seq join task_dependency d on d.seq = x.seq
where not d.run and d.state <> 4 /* succeeded */
order by k.seq, d.place limit 20`,
    ),
  },
  {
    name: 'what is held is a task, and the same of it',
    ...ofTable(
      'held',
      `
select t.id, p.seq, p.target_id as "targetId", t.target_id as "targetOfTask"
from looked p left join task t on t.seq = p.seq
where t.seq is null or p.target_id <> t.target_id
order by p.seq limit 20`,
    ),
  },
  {
    name: 'a dependency is of a task, and names another',
    ...ofTable(
      'task_dependency',
      `
select d.seq, d.needs, d.needs_id as "dependsOn", n.id
from looked d left join task t on t.seq = d.seq left join task n on n.seq = d.needs
where t.seq is null or n.id <> d.needs_id
order by d.seq, d.needs limit 20`,
    ),
  },
];

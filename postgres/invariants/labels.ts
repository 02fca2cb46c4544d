import type { Invariant } from './invariant';
import { ofTable, wholeTable } from './invariant';

/** Labels: they are of a task, and each of its tags finds it. */
export const labels: readonly Invariant[] = [
  {
    name: 'labels are of a task of their handler',
    ...ofTable(
      'task_label',
      `
select t.id, l.seq, l.handler_id as "handlerId", g.handler_id as "handlerOfTask"
from looked l left join task t on t.seq = l.seq left join target g on g.id = t.target_id
where t.seq is null or l.handler_id <> g.handler_id
order by l.seq limit 20`,
    ),
  },
  {
    name: 'a task is found by each of its tags',
    ...ofTable(
      'task_label',
      `
select l.seq, u.tag
from looked l cross join lateral unnest(l.tags) u (tag)
  left join task_tag g on g.tag = u.tag and g.handler_id = l.handler_id and g.seq = l.seq
where g.seq is null
order by l.seq, u.tag limit 20`,
    ),
  },
  {
    // Its key begins with the tag, which no window of tasks bounds.
    name: 'a tag finds a task that has it',
    ...wholeTable(
      'task_label',
      `
select g.seq, g.tag, g.handler_id as "handlerId"
from task_tag g left join task_label l on l.seq = g.seq and l.handler_id = g.handler_id and g.tag = any(l.tags)
where l.seq is null
order by g.seq, g.tag limit 20`,
    ),
  },
];

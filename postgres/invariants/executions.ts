import type { Invariant } from './invariant';
import { ATTENDED, ofTable } from './invariant';

/** Executions: every item in one place, every count true, nothing forgotten. */

/** Longer than a node or a workflow may take. */
const LATE = `interval '60 s'`;

export const executions: readonly Invariant[] = [
  {
    name: 'an execution counts its items by state',
    ...ofTable(
      'execution',
      `
select e.id as execution, e.items, count(w.position)::int as found
from looked e left join work_item w on w.execution_id = e.id
where e.state <> -4 /* deleted */
group by e.id, e.items, e.n_created, e.n_running, e.n_done, e.n_failed, e.n_dead
having e.items <> count(w.position)
  or e.n_created <> count(*) filter (where w.state = 0 /* created */)
  or e.n_running <> count(*) filter (where w.state = 1 /* in progress */)
  or e.n_done <> count(*) filter (where w.state = 100 /* done */)
  or e.n_failed <> count(*) filter (where w.state = -1 /* failed */)
  or e.n_dead <> count(*) filter (where w.state = -2 /* permanently failed */)
order by e.id limit 20`,
    ),
  },
  {
    name: 'a chunk counts its items in progress',
    ...ofTable(
      'chunk',
      `
select c.id as chunk, c.n_open as open, count(w.position)::int as found
from looked c join execution e on e.id = c.execution_id and e.state <> -4 /* deleted */
  left join work_item w on w.chunk_id = c.id and w.state = 1 /* in progress */
group by c.id, c.n_open
having c.n_open <> count(w.position)
order by c.id limit 20`,
    ),
  },
  {
    name: 'an item is in a chunk of the same execution',
    ...ofTable(
      'work_item',
      `
select w.execution_id as execution, w.position, w.chunk_id as chunk
from looked w left join chunk c on c.id = w.chunk_id
where w.chunk_id is not null and c.execution_id is distinct from w.execution_id
order by 1, 2 limit 20`,
    ),
  },
  {
    name: 'items are numbered without gaps',
    ...ofTable(
      'execution',
      `
select e.id as execution, e.items, max(w.position) as last
from looked e join work_item w on w.execution_id = e.id
where e.state <> -4 /* deleted */
group by e.id, e.items
having max(w.position) <> e.items - 1
order by e.id limit 20`,
    ),
  },
  {
    name: 'attempts of an item are within the limit',
    ...ofTable(
      'work_item',
      `
select w.execution_id as execution, w.position, w.attempts, w.state, e.attempts_limit as "limit"
from looked w join execution e on e.id = w.execution_id
where w.attempts > e.attempts_limit
  or w.state = 100 /* done */ and w.attempts = 0
  or w.state = -2 /* permanently failed */ and w.attempts < 1
order by 1, 2 limit 20`,
    ),
  },
  {
    name: 'nothing of an ended execution is in progress',
    passing: true,
    ...ofTable(
      'execution',
      `
select e.id as execution, e.state, e.n_running as running
from looked e
where e.state in (100 /* done */, -3 /* cancelled */) and e.n_running > 0
order by e.id limit 20`,
    ),
  },
  {
    // Either its node renews it, or its workflow closes it.
    name: 'a taken chunk is held by a node, or closed in time',
    passing: true,
    text: `
select c.id as chunk, c.node_id as node
from chunk c join execution e on e.id = c.execution_id
where e.state in (0 /* created */, 1 /* in progress */) and (
  c.state = 1 /* taken */ and c.expires_at < clock() - ${LATE}
  or c.state = -1 /* closed */ and c.n_open > 0 and c.finished_at < clock() - ${LATE})
  and ${ATTENDED}
order by c.id limit 20`,
  },
  {
    name: 'an open execution is looked at in time',
    passing: true,
    text: `
select e.id as execution
from execution e
where e.state in (0 /* created */, 1 /* in progress */) and (e.resume_at is null or e.resume_at < clock() - ${LATE})
  and ${ATTENDED}
order by e.id limit 20`,
  },
];

import type { Invariant } from './invariant';
import { ofTable } from './invariant';

/** Batches, their members, attempts and results. */
export const batches: readonly Invariant[] = [
  {
    name: 'a batch has the members that have not left',
    ...ofTable(
      'batch',
      `
select b.id as batch, b.state, b.n, b.n_left as left, count(m.seq)::int as members
from looked b cross join lateral unnest(b.members) u (seq) left join member m on m.seq = u.seq and m.batch_id = b.id
group by b.id, b.state, b.n, b.n_left having count(m.seq) <> b.n - b.n_left order by b.id limit 20`,
    ),
  },
  {
    // Per batch and not per member: a batch of 100,000 is unpacked once.
    name: 'a member is in the batch that it names',
    ...ofTable(
      'member',
      `
select x.seq, g.batch_id as batch
from (select batch_id, array_agg(seq) as seqs from looked group by 1) g left join batch b on b.id = g.batch_id
  cross join lateral (select unnest(g.seqs) as seq except select unnest(b.members)) x
order by x.seq limit 20`,
    ),
  },
  {
    name: 'a task is in one open batch',
    ...ofTable(
      'batch',
      `
select u.seq, array[least(b.id, o.id), greatest(b.id, o.id)] as batches
from looked b cross join lateral unnest(b.members) u (seq) join member m on m.seq = u.seq and m.batch_id <> b.id
  join batch o on o.id = m.batch_id and o.state = 1 /* open */
where b.state = 1 /* open */ order by u.seq limit 20`,
    ),
  },
  {
    name: 'the members of a fresh batch were not tried before',
    ...ofTable(
      'batch',
      `
select b.id as batch, m.seq, m.attempts
from looked b cross join lateral unnest(b.members) u (seq) join member m on m.seq = u.seq and m.batch_id = b.id
where b.fresh and m.attempts <> 0
order by b.id, m.seq limit 20`,
    ),
  },
  {
    name: 'members share the target of their batch',
    ...ofTable(
      'member',
      `
select t.id, t.seq, b.id as batch, b.target_id as "targetOfBatch", t.target_id as "targetOfTask"
from looked m join batch b on b.id = m.batch_id join task t on t.seq = m.seq
  where t.target_id <> b.target_id order by t.seq limit 20`,
    ),
  },
  {
    name: 'the state of a batch agrees with its times and members',
    ...ofTable(
      'batch',
      `
select id as batch, state, n, n_left as left, finished_at as "finishedAt"
from looked
where (state >= 4 /* ended */) <> (finished_at is not null)
  or (state = 7 /* dissolved */) <> (n_left = n)
  or (state = 1 /* open */ and n_left > 0)
order by id limit 20`,
    ),
  },
  {
    name: 'attempts are at least those that count',
    ...ofTable(
      'batch',
      `
select id as batch, attempt as attempts, counted, started_at as "startedAt", attempt_until as "attemptUntil"
from looked
where counted > attempt
  or counted < 0
  or (attempt > 0 and started_at is null)
  or (attempt = 0 and attempt_until is not null)
order by id limit 20`,
    ),
  },
  {
    name: 'a part of a batch holds members of it',
    ...ofTable(
      'batch',
      `
select c.id as batch, c.parent_id as parent, x.strangers
from looked c left join batch p on p.id = c.parent_id cross join lateral (
  select count(*)::int as strangers
  from (select unnest(c.members) except select unnest(p.members)) s) x
where c.parent_id is not null and x.strangers > 0
order by c.id limit 20`,
    ),
  },
  {
    name: 'result pages lie within their batch',
    ...ofTable(
      'result_page',
      `
select p.batch_id as batch, p.attempt, p.no as page, p.first, p.last, b.n
from looked p left join batch b on b.id = p.batch_id
where b.id is null
  or p.attempt > b.attempt
  or p.first < 0
  or p.last >= b.n
  or p.last < p.first
  or json_array_length(p.results) > p.last - p.first + 1
order by p.batch_id, p.attempt, p.no limit 20`,
    ),
  },
  {
    name: 'a batch belongs to the leader of its target',
    ...ofTable(
      'batch',
      `
select b.id as batch, b.leader_id as "leaderOfBatch", t.leader_id as "leaderOfTarget"
from looked b join target t on t.id = b.target_id
where b.leader_id not in (t.leader_id, 0)
order by b.id limit 20`,
    ),
  },
  {
    name: 'a leader leads targets of its handler only',
    ...ofTable(
      'target',
      `
select t.id as target, t.key, t.handler_id as "handlerOfTarget", l.handler_id as "handlerOfLeader"
from looked t left join leader l on l.id = t.leader_id
where l.handler_id is distinct from t.handler_id
union all select null, null, d.handler_id, l.handler_id
from dispatch d join leader l on l.id = d.leader_id
where l.handler_id <> d.handler_id limit 20`,
    ),
  },
];

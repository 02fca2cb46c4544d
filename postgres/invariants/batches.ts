import type { Invariant } from './invariant';

/** Batches, their members, attempts and results. */
export const batches: readonly Invariant[] = [
  {
    name: 'a batch has the members that have not left',
    text: `
select b.id as batch, b.state, b.n, b.n_left as left, count(m.seq)::int as members from batch b left join member m on m.batch_id = b.id
group by b.id having count(m.seq) <> b.n - b.n_left order by b.id limit 20`,
  },
  {
    name: 'a member is in the batch that it names',
    text: `
select m.seq, m.batch_id as batch from member m left join (select b.id, u.seq from batch b cross join lateral unnest(b.members) u (seq)) x
  on x.id = m.batch_id and x.seq = m.seq
where x.seq is null order by m.seq limit 20`,
  },
  {
    name: 'a task is in one open batch',
    text: `
select u.seq, array_agg(b.id order by b.id) as batches from batch b cross join lateral unnest(b.members) u (seq) where b.state = 1
group by u.seq having count(*) > 1 order by u.seq limit 20`,
  },
  {
    name: 'the members of a fresh batch were not tried before',
    text: `
select b.id as batch, m.seq, m.attempts from batch b join member m on m.batch_id = b.id where b.fresh and m.attempts <> 0 order by b.id, m.seq limit 20`,
  },
  {
    name: 'members share the target of their batch',
    text: `
select t.id, t.seq, b.id as batch, b.target_id as "targetOfBatch", t.target_id as "targetOfTask"
from member m join batch b on b.id = m.batch_id join task t on t.seq = m.seq where t.target_id <> b.target_id order by t.seq limit 20`,
  },
  {
    name: 'the state of a batch agrees with its times and members',
    text: `
select id as batch, state, n, n_left as left, finished_at as "finishedAt" from batch
where (state >= 4) <> (finished_at is not null) or (state = 7) <> (n_left = n) or (state = 1 and n_left > 0) order by id limit 20`,
  },
  {
    name: 'attempts are at least those that count',
    text: `
select id as batch, attempt as attempts, counted, started_at as "startedAt", attempt_until as "attemptUntil" from batch
where counted > attempt or counted < 0 or (attempt > 0 and started_at is null) or (attempt = 0 and attempt_until is not null) order by id limit 20`,
  },
  {
    name: 'a part of a batch holds members of it',
    text: `
select c.id as batch, c.parent_id as parent, count(*)::int as strangers from batch c cross join lateral unnest(c.members) u (seq)
  left join batch p on p.id = c.parent_id
where c.parent_id is not null and (p.id is null or not exists (select from unnest(p.members) x (seq) where x.seq = u.seq))
group by c.id order by c.id limit 20`,
  },
  {
    name: 'result pages lie within their batch',
    text: `
select p.batch_id as batch, p.attempt, p.no as page, p.first, p.last, b.n from result_page p left join batch b on b.id = p.batch_id
where b.id is null or p.attempt > b.attempt or p.first < 0 or p.last >= b.n or p.last < p.first or json_array_length(p.results) > p.last - p.first + 1
order by p.batch_id, p.attempt, p.no limit 20`,
  },
  {
    name: 'a batch belongs to the leader of its target',
    text: `
select b.id as batch, b.leader_id as "leaderOfBatch", t.leader_id as "leaderOfTarget" from batch b join target t on t.id = b.target_id
where b.leader_id not in (t.leader_id, 0) order by b.id limit 20`,
  },
  {
    name: 'a leader leads targets of its own handler',
    text: `
select t.id as target, t.key, t.handler_id as "handlerOfTarget", l.handler_id as "handlerOfLeader" from target t join leader l on l.id = t.leader_id
where l.handler_id <> t.handler_id
union all
select null, null, d.handler_id, l.handler_id from dispatch d join leader l on l.id = d.leader_id where l.handler_id <> d.handler_id limit 20`,
  },
];

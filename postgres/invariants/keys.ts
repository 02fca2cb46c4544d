import type { Invariant } from './invariant';

/** distinctBy (H6), and who is to be told (A17). */
export const keys: readonly Invariant[] = [
  {
    // A batch settles, then gives its keys back: two statements.
    name: 'a distinctBy key is held by a live task',
    passing: true,
    text: `
select k.target_id as "targetId", k.key, k.seq from busy_key k left join queue q on q.target_id = k.target_id and q.seq = k.seq left join delayed d on d.seq = k.seq
  left join member m on m.seq = k.seq left join batch b on b.id = m.batch_id and b.state in (1, 3)
where q.seq is null and d.seq is null and b.id is null order by k.target_id, k.key limit 20`,
  },
  {
    name: 'a live task holds its distinctBy key',
    text: `
select t.id, t.seq, t.key, b.id as batch from batch b join target g on g.id = b.target_id join handler h on h.id = g.handler_id and h.keyed
  cross join lateral unnest(b.members) u (seq) join member m on m.seq = u.seq and m.batch_id = b.id join task t on t.seq = m.seq
  left join busy_key k on k.target_id = b.target_id and k.key = t.key and k.seq = t.seq
where b.state in (1, 3) and t.key is not null and k.seq is null order by t.seq limit 20`,
  },
];

/** Ended tasks that have an initiator, and the batch in whose name it is told: a part that is parked was told of by the whole. */
const ENDS = `
select t.id, t.seq, t.initiator_id, b.id as batch_id, b.parent_id from task t join member m on m.seq = t.seq join batch b on b.id = m.batch_id and b.state >= 3
where t.initiator_id is not null
union all
select t.id, t.seq, t.initiator_id, o.batch_id, b.parent_id from task t join outcome o on o.seq = t.seq left join batch b on b.id = o.batch_id
where t.initiator_id is not null`;

export const notices: readonly Invariant[] = [
  {
    name: 'the initiator of an ended task is told',
    text: `
select e.id, e.batch_id as batch, e.initiator_id as initiator from (${ENDS}) e
where not exists (
    select from notification n where n.initiator_id = e.initiator_id and n.batch_id in (e.batch_id, e.parent_id))
  and not (e.batch_id is null and exists (select from notification n where n.initiator_id = e.initiator_id and n.batch_id is null))
order by e.seq limit 20`,
  },
  {
    name: 'a notification is of a batch in the store',
    text: `
select n.id as notification, n.batch_id as batch from notification n left join batch b on b.id = n.batch_id where n.batch_id is not null and b.id is null
order by n.id limit 20`,
  },
  {
    name: 'a notification is delivered, given up, or due some time',
    text: `select id as notification, batch_id as batch from notification where done_at is null and next_at is null order by id limit 20`,
  },
];

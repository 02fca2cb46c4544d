import type { Invariant } from './invariant';
import { ofTable } from './invariant';

/** Keys of distinctBy, and the receivers of task ends. */
export const keys: readonly Invariant[] = [
  {
    // A batch settles, then frees its keys: two statements.
    name: 'a distinctBy key is held by a live task',
    passing: true,
    ...ofTable(
      'busy_key',
      `
select k.target_id as "targetId", k.key, k.seq
from looked k left join task t on t.seq = k.seq left join queue q on q.target_id = k.target_id
    and q.priority = t.priority and q.seq = k.seq left join delayed d on d.seq = k.seq
  left join member m on m.seq = k.seq left join batch b on b.id = m.batch_id
    and b.state in (1 /* open */, 3 /* unknown */)
where q.seq is null and d.seq is null and b.id is null
order by k.target_id, k.key limit 20`,
    ),
  },
  {
    name: 'a live task holds its distinctBy key',
    ...ofTable(
      'batch',
      `
select t.id, t.seq, t.key, b.id as batch
from looked b join target g on g.id = b.target_id join handler h on h.id = g.handler_id and h.keyed
  cross join lateral unnest(b.members) u (seq) join member m on m.seq = u.seq and m.batch_id = b.id
  join task t on t.seq = m.seq left join busy_key k on k.target_id = b.target_id and k.key = t.key and k.seq = t.seq
where b.state in (1 /* open */, 3 /* unknown */) and t.key is not null and k.seq is null
order by t.seq limit 20`,
    ),
  },
];

export const notifications: readonly Invariant[] = [
  {
    name: 'the recipient of an ended task is told',
    // The batch named in the message: the end of a parked part is reported by the whole batch.
    ...ofTable(
      'task',
      `
select t.id, e.batch_id as batch, t.recipient_id as recipient
from looked t left join outcome o on o.seq = t.seq left join member m on m.seq = t.seq
  left join batch b on b.id = coalesce(m.batch_id, o.batch_id)
  cross join lateral (select case when o.seq is null then b.id else o.batch_id end as batch_id, b.parent_id) e
where t.recipient_id is not null and (o.seq is not null or b.state >= 3 /* unknown or ended */) and not exists (
  select from notification n
  where n.recipient_id = t.recipient_id and n.batch_id in (e.batch_id, e.parent_id))
  and not (e.batch_id is null
    and exists (select from notification n where n.recipient_id = t.recipient_id and n.batch_id is null))
order by t.seq limit 20`,
    ),
  },
  {
    name: 'a notification is of a batch in the store',
    ...ofTable(
      'notification',
      `
select n.id as notification, n.batch_id as batch
from looked n left join batch b on b.id = n.batch_id
where n.batch_id is not null and b.id is null
order by n.id limit 20`,
    ),
  },
  {
    name: 'a notification is delivered, given up, or due some time',
    text: `select id as notification, batch_id as batch from notification where done_at is null
      and next_at is null order by id limit 20`,
  },
];

import type { Queryable } from '../pool';
import { attendedBy, LATE, LIVE } from './attended';
import { STALLED_READS } from './stalledReads';
import { STALLED_DISPATCHES } from './uncalled';

/**
 * Due work whose workflow does not move: since when something is overdue without any sign of the
 * workflow. Read only where a worker has been alive for as long, or has been lost, since otherwise
 * waiting is no fault. One statement per kind, shared by `verify`, which names the rows.
 */
export interface OverdueWork {
  kind: 'monitor' | 'notifier' | 'balancer' | 'execution' | 'dispatch';
  /**
   * The handler, the id of the execution, or of the oldest batch that a dispatch has not called;
   * empty: an installation has only one.
   */
  name: string;
  /** Handlers that have partitions without a node, or whose batch a dispatch has. */
  handlers: string[];
  /** What gave it to a dispatch or submitter: the leader, or, if `leader` is null, the queuer. */
  givenBy: { id: number; leader: string | null } | null;
  ms: number;
  /** Run of its last turn, as far as the store knows it. */
  runId: string | null;
}

const ATTENDED = attendedBy();
/** Most rows read per kind: the oldest. */
const MOST = 10_000;

/**
 * SQL of the last sign of life of a monitor's or the notifier's activity, on its row of `lease`.
 */
const lookedAt = (resource: string): string =>
  `(select k.expires_at from lease k where k.resource = ${resource} and k.expires_at > ${LATE})`;
export const monitorLook = (handler: string): string => `look/monitor/${handler}`;
export const NOTIFIER_LOOK = 'look/notifier';

/** Handlers whose accepted batches are not polled, or whose cancellations are not sent. */
export const STALLED_MONITORS = `
select h.name as handler, min(d.at) as since
from (
  select t.handler_id, b.poll_at as at
  from (
    select target_id, poll_at
    from batch
    where reference is not null and state = 1 /* open */ and poll_at < ${LATE}
    order by poll_at limit ${MOST}) b join target t on t.id = b.target_id
  union all select c.handler_id, c.next_at
  from cancellation c
  where c.state = 0 /* requested */ and c.next_at < ${LATE}) d join handler h on h.id = d.handler_id
where ${attendedBy('h.name = any(n.handlers)')}
  and ${lookedAt(`'look/monitor/' || h.name`)} is null
group by h.name`;

/** The oldest overdue notification, at most one row. */
export const STALLED_NOTIFIER = `
select n.id as notification, n.next_at as since
from (select id, next_at from notification where done_at is null and next_at < ${LATE} order by next_at limit 1) n
where ${ATTENDED} and ${lookedAt(`'${NOTIFIER_LOOK}'`)} is null`;

/**
 * Partitions that a live node is able to have and is not given, and those to be given up, while
 * there are no rounds. A node may take most of a lease to give one up; the lease of one that is
 * held is renewed at a third, so what is left of it is above half.
 */
export const STALLED_PARTITIONS = `
select p.resource as partition, h.name as handler, case when l.expires_at < ${LATE} then l.expires_at
    else coalesce(l.revoked_at, d.drained_at, p.pinned_at) end as since
from partition p join lease l on l.resource = p.resource join handler h on h.id = p.handler_id
  left join node o on o.id = l.holder left join drain d on d.node = o.id or d.is_name and d.node = o.name
where (l.expires_at < ${LATE} and (l.kept_until is null or l.kept_until < ${LATE})
  or l.revoked_at < ${LATE} - 2 * greatest(interval '0', l.expires_at - clock())
  or l.revoked_at is null and l.expires_at > clock() and (d.drained_at < ${LATE}
    or p.pinned_at < ${LATE} and p.pinned_to is distinct from o.id and p.pinned_to is distinct from o.name
      and exists (
        select from node n
        where ${LIVE} and not n.drained and (n.id = p.pinned_to or n.name = p.pinned_to) and h.name = any(n.handlers)
          and n.attributes @> h.needs)))
  and exists (
    select from node n
    where ${LIVE} and not n.drained and h.name = any(n.handlers) and n.attributes @> h.needs)
  and not exists (select from lease k where k.resource = 'assignor' and k.expires_at > ${LATE})`;

/** Executions that were woken and take no turn, or that were not woken. */
export const STALLED_EXECUTIONS = `
select x.id as execution, x.since, x.run
from (
  select e.id, e.woken_at as since, e.run
  from execution e
  where e.woken_at < ${LATE} and e.state in (0 /* created */, 1 /* in progress */)
  union all select e.id, e.resume_at, e.run
  from execution e
  where e.resume_at < ${LATE} and e.state in (0 /* created */, 1 /* in progress */) and e.woken_at is null) x
where ${ATTENDED}`;

/** Returns the work that has stalled, the longest first. */
export const readOverdueWork = async (db: Queryable, limit: number): Promise<OverdueWork[]> => {
  const { rows } = await db.query<OverdueWork>({
    name: 'read-overdue-work',
    text: `
select x.kind, x.name, x.handlers, x."givenBy", x."runId",
  (extract(epoch from clock() - x.since) * 1000)::float8 as ms
from (
  select 'monitor' as kind, handler as name, array[]::text[] as handlers, null::jsonb as "givenBy", since,
    null::text as "runId"
  from (${STALLED_MONITORS}) m
  union all select 'notifier', '', '{}', null, since, null
  from (${STALLED_NOTIFIER}) n
  union all select 'dispatch', batch::text, array[handler], jsonb_build_object('id', owner, 'leader', leader), since,
    run
  from (${STALLED_DISPATCHES}) s
  union all select 'balancer', '', array_agg(distinct handler), null, min(since),
    (select k.holder from lease k where k.resource = 'assignor')
  from (${STALLED_PARTITIONS}) p
  having count(*) > 0
  union all (
    select 'execution', execution::text, '{}', null, since, run
    from (${STALLED_EXECUTIONS}) e
    order by since limit $1)) x
order by x.since limit $1`,
    values: [limit],
  });
  return rows;
};

/** Counts the stalled work of each kind, with the age of the oldest. */
export interface OverdueGauge {
  kind: OverdueWork['kind'] | 'read';
  n: number;
  oldestMs: number;
}

export const readOverdueGauges = async (db: Queryable): Promise<OverdueGauge[]> => {
  const { rows } = await db.query<OverdueGauge>({
    name: 'read-overdue-gauges',
    text: `
select k.kind, coalesce(x.n, 0)::float8 as n,
  coalesce(extract(epoch from clock() - x.since) * 1000, 0)::float8 as "oldestMs"
from unnest(array['monitor', 'notifier', 'balancer', 'execution', 'dispatch', 'read']) k (kind) left join (
  select 'monitor' as kind, count(*) as n, min(since) as since
  from (${STALLED_MONITORS}) m
  union all select 'notifier', count(*), min(since)
  from (${STALLED_NOTIFIER}) n
  union all select 'balancer', least(1, count(*)), min(since)
  from (${STALLED_PARTITIONS}) p
  union all select 'execution', count(*), min(since)
  from (${STALLED_EXECUTIONS}) e
  union all select 'dispatch', count(*), min(since)
  from (${STALLED_DISPATCHES}) s
  union all select 'read', count(*), min(since)
  from (${STALLED_READS}) r) x on x.kind = k.kind`,
  });
  return rows;
};

/**
 * Writes a sign of life of a monitor's or notifier's activity. At most every 10 s: its looks may
 * follow each other fast.
 */
export const signLook = async (db: Queryable, resource: string): Promise<void> => {
  await db.query({
    name: 'sign-look',
    text: `
insert into lease as l (resource, epoch, acquired_at, expires_at)
values ($1, 0, clock(), clock())
on conflict (resource) do update set expires_at = excluded.expires_at
where l.expires_at < clock() - interval '10 s'`,
    values: [resource],
  });
};

/**
 * Says whether a callback of this task, which has ended, has been due for so long that its notifier
 * has stalled.
 */
export const hasOverdueNotification = async (db: Queryable, taskId: string): Promise<boolean> => {
  const { rows } = await db.query<{ overdue: boolean }>({
    name: 'has-overdue-notification',
    text: `
select exists (select from task t left join outcome o on o.seq = t.seq left join member m on m.seq = t.seq
  left join batch b on b.id = coalesce(m.batch_id, o.batch_id)
  join notification n on n.recipient_id = t.recipient_id and (n.batch_id is null or n.batch_id in (b.id, b.parent_id))
where t.id = $1 and n.done_at is null and n.next_at < ${LATE}) as overdue`,
    values: [taskId],
  });
  return rows[0]!.overdue;
};

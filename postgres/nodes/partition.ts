import type { Queryable } from '../pool';

/**
 * Statements about partitions and their leases: `lease.holder` may serve a partition until
 * `expires_at`, under an epoch that rises with every change of holder. Every write names the epoch,
 * so that an old holder's are refused. This file has registration, and what the balancer writes;
 * what a node writes about its own partitions is in `partitionLease.ts`.
 */

export const partitionResource = (handler: string, no: number): string => `partition/${handler}/${no}`;

/** Returns a partition's name as operators and downstreams know it: `<handler>/<no>`. */
export const partitionName = (resource: string): string => resource.slice('partition/'.length);

/**
 * Registers a handler's partitions. Their number never falls: if the config later names fewer, work
 * in the others still goes.
 */
export const registerPartitions = async (
  db: Queryable,
  handlerId: number,
  handler: string,
  count: number,
): Promise<void> => {
  const numbers = Array.from({ length: count }, (_, no) => no);
  const values = [numbers.map((no) => partitionResource(handler, no))];
  await db.query({
    name: 'register-partition-leases',
    text: `
insert into lease (resource, epoch, acquired_at, expires_at) select r, 0, clock(), clock()
  from unnest($1::text[]) r order by r on conflict do nothing`,
    values,
  });
  await db.query({
    name: 'register-partitions',
    text: `
insert into partition (resource, handler_id, no)
select u.r, $2, u.no
from unnest($1::text[], $3::int[]) u (r, no)
order by u.r
on conflict do nothing`,
    values: [...values, handlerId, numbers],
  });
};

/** A partition as the balancer sees it. Times are ms by the database's clock. */
export interface PartitionRow {
  id: string;
  handler: string;
  needs: Record<string, string>;
  holder: string | null;
  epoch: number;
  expired: boolean;
  leftMs: number;
  heldMs: number;
  /** Time since the holder was asked to give it up. */
  revokedMs: number | null;
  wantedBy: string | null;
  keptFor: string | null;
  keptLeftMs: number | null;
  pinnedTo: string | null;
}

/**
 * Locks the assignor's lease until the transaction ends: so rounds follow each other, whichever
 * process runs them.
 */
export const lockAssignor = async (db: Queryable, holder: string): Promise<number> => {
  const { rows } = await db.query<{ epoch: number }>({
    name: 'lock-assignor',
    text: `
insert into lease as l (resource, holder, epoch, acquired_at, expires_at) values ('assignor', $1, 1, clock(), clock())
on conflict (resource) do update set holder = excluded.holder, epoch = l.epoch + (l.holder is distinct
  from excluded.holder)::int, expires_at = clock()
returning epoch`,
    values: [holder],
  });
  return rows[0]!.epoch;
};

/**
 * Returns all partitions, by name. For one lease after the server started nothing counts as
 * expired: while it was down no node could renew, so a missed renewal says nothing about a node.
 */
export const readPartitions = async (db: Queryable, leaseMs: number): Promise<PartitionRow[]> => {
  const { rows } = await db.query<PartitionRow>({
    name: 'read-partitions',
    text: `
select p.resource as id, h.name as handler, h.needs, l.holder, l.epoch,
  l.expires_at <= clock() and clock() > pg_postmaster_start_time() + $1 * interval '1 ms' as expired,
  (extract(epoch from l.expires_at - clock()) * 1000)::float8 as "leftMs",  (extract(epoch
    from clock() - l.acquired_at) * 1000)::float8 as "heldMs", (extract(epoch
    from clock() - l.revoked_at) * 1000)::float8 as "revokedMs",
  l.wanted_by as "wantedBy", l.kept_for as "keptFor", (extract(epoch
    from l.kept_until - clock()) * 1000)::float8 as "keptLeftMs", p.pinned_to as "pinnedTo"
from partition p join lease l on l.resource = p.resource join handler h on h.id = p.handler_id order by p.resource`,
    values: [leaseMs],
  });
  return rows;
};

/** The load of a partition is what ended in it within this time. */
export const LOAD_OVER_MS = 60_000;

/**
 * Returns the batches per partition that ended in the last `overMs`; partitions without any are
 * left out. The measure of load.
 */
export const readPartitionLoads = async (db: Queryable, overMs: number): Promise<{ id: string; batches: number }[]> => {
  const { rows } = await db.query<{ id: string; batches: number }>({
    name: 'read-partition-loads',
    text: `
select coalesce(n.partition, p.resource) as id, count(*)::int as batches
from batch b join target t on t.id = b.target_id left join lane n on n.id = t.lane_id
  left join leader l on l.id = b.leader_id
left join partition p on p.handler_id = l.handler_id and p.no::text = l.name
where b.finished_at > clock() - $1 * interval '1 ms' and (n.partition is not null or p.resource is not null)
  group by 1`,
    values: [overMs],
  });
  return rows;
};

/**
 * Those of $1 that no transaction has locked just now: a process that is stopped in the middle of a
 * grant must not hold up the others.
 */
const UNLOCKED = `(select o.resource from lease o where o.resource = any($1::text[]) order by o.resource
  for no key update skip locked) u`;

export interface Revocation {
  partition: string;
  epoch: number;
  /** Node that is to have it next; null: none in particular. */
  wantedBy: string | null;
  reason: string;
}

/**
 * Asks holders to give up partitions, except where the lease has changed since the plan was made.
 * Returns the partitions that were asked back.
 */
export const revokePartitions = async (db: Queryable, revocations: readonly Revocation[]): Promise<string[]> => {
  const { rows } = await db.query<{ resource: string }>({
    name: 'revoke-partitions',
    text: `
update lease l set revoked_at = coalesce(l.revoked_at, clock()), wanted_by = r.wanted_by, reason = r.reason
from unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) r (resource, epoch, wanted_by, reason), ${UNLOCKED}
where l.resource = any($1::text[]) and l.resource = u.resource and l.resource = r.resource and l.epoch = r.epoch
  and l.holder is not null
returning l.resource`,
    values: [
      revocations.map((one) => one.partition),
      revocations.map((one) => one.epoch),
      revocations.map((one) => one.wantedBy),
      revocations.map((one) => one.reason),
    ],
  });
  return rows.map(({ resource }) => resource);
};

export interface Assignment {
  partition: string;
  /** As the plan saw it; the holder gets the next one. */
  epoch: number;
  node: string;
  reason: string;
}

/**
 * Gives partitions to nodes, each under a new epoch: writes under an older one are refused. Returns
 * those given.
 */
export const assignPartitions = async (
  db: Queryable,
  assignments: readonly Assignment[],
  leaseMs: number,
): Promise<string[]> => {
  const { rows } = await db.query<{ resource: string }>({
    name: 'assign-partitions',
    text: `
update lease l set holder = a.node, epoch = l.epoch + 1, acquired_at = clock(),
  expires_at = clock() + $5 * interval '1 ms', moved_at = clock(), revoked_at = null, wanted_by = null,
  kept_for = null, kept_until = null, reason = a.reason
from unnest($1::text[], $2::bigint[], $3::text[], $4::text[]) a (resource, epoch, node, reason), ${UNLOCKED}
where l.resource = any($1::text[]) and l.resource = u.resource and l.resource = a.resource and l.epoch = a.epoch
returning l.resource`,
    values: [
      assignments.map((one) => one.partition),
      assignments.map((one) => one.epoch),
      assignments.map((one) => one.node),
      assignments.map((one) => one.reason),
      leaseMs,
    ],
  });
  return rows.map(({ resource }) => resource);
};

/** Returns the latest moves, and those about to happen, newest first, one line each. */
export const readLastMoves = async (db: Queryable, limit: number): Promise<string[]> => {
  const { rows } = await db.query<{ at: Date; reason: string }>({
    name: 'read-last-moves',
    text: `
select coalesce(revoked_at, moved_at) as at, reason
from lease
where resource like 'partition/%' and reason is not null and coalesce(revoked_at, moved_at) is not null
order by 1 desc, resource limit $1`,
    values: [limit],
  });
  return rows.map(({ at, reason }) => `${at.toISOString()} ${reason}`);
};

/**
 * Which node serves a partition, for senders of work; null while none does, or while its node is to
 * give it up.
 */
export interface Serving {
  id: string;
  node: string | null;
  epoch: number;
}

/** Returns who serves the partition of that number; null: the handler has no such partition. */
export const readServing = async (db: Queryable, handlerId: number, no: string): Promise<Serving | null> => {
  const { rows } = await db.query<Serving>({
    name: 'read-serving',
    text: `
select p.resource as id, case when l.expires_at > clock() and l.revoked_at is null then l.holder end as node, l.epoch
from partition p join lease l on l.resource = p.resource
where p.handler_id = $1 and p.no::text = $2`,
    values: [handlerId, no],
  });
  return rows[0] ?? null;
};

/**
 * Returns who serves several partitions, locked until the transaction ends, so that a grant is made
 * under the epoch that it names. Locks are taken in a fixed order, so that two such statements
 * never wait for each other.
 */
export const lockServing = async (db: Queryable, ids: readonly string[]): Promise<Map<string, Serving>> => {
  const { rows } = await db.query<Serving>({
    name: 'lock-serving',
    text: `
select l.resource as id, case when l.expires_at > clock() and l.revoked_at is null then l.holder end as node, l.epoch
from lease l
where l.resource = any($1::text[])
order by l.resource for share`,
    values: [ids],
  });
  return new Map(rows.map((row) => [row.id, row]));
};

/**
 * Says whether the balancer has work that no event announced: a partition whose lease passed a
 * second ago, or that was to be given up `overdueMs` ago, or that an operator drained or pinned
 * away from its holder, while a live node is able to have it. As in `readPartitions`, nothing
 * counts as passed just after the server started.
 */
export const hasLostPartitions = async (db: Queryable, leaseMs: number, overdueMs: number): Promise<boolean> => {
  const { rows } = await db.query<{ lost: boolean }>({
    name: 'has-lost-partitions',
    text: `
select clock() > pg_postmaster_start_time() + $1 * interval '1 ms' and exists (
  select from partition p join lease l on l.resource = p.resource join handler h on h.id = p.handler_id
  where (l.expires_at < clock() - interval '1 s' and (l.kept_until is null or l.kept_until < clock())
    or l.revoked_at < clock() - $2 * interval '1 ms'
    or l.revoked_at is null and exists (select from node d where d.id = l.holder and d.drained)
    or l.revoked_at is null and l.holder is not null and p.pinned_at < clock() - interval '1 s' and exists (
      select from node d
      where (d.id = p.pinned_to or d.name = p.pinned_to) and d.seen_at > clock() - $1 * interval '1 ms'
        and not d.draining and not d.drained and h.name = any(d.handlers) and d.attributes @> h.needs)
      and not exists (select from node d where d.id = l.holder and (d.id = p.pinned_to or d.name = p.pinned_to)))
    and exists (
      select from node n
      where n.seen_at > clock() - $1 * interval '1 ms' and not n.draining and not n.drained
        and h.name = any(n.handlers) and n.attributes @> h.needs)) as lost`,
    values: [leaseMs, overdueMs],
  });
  return rows[0]!.lost;
};

/**
 * Pins a partition to a node for an operator; null removes the pin. False: there is no such
 * partition.
 */
export const pinPartition = async (db: Queryable, id: string, node: string | null): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'pin-partition',
    text: `
update partition set pinned_to = $2, pinned_at = case when $2::text is not null then clock() end
where resource = $1`,
    values: [id, node],
  });
  return rowCount === 1;
};

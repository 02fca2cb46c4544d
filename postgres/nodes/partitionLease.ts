import type { Queryable } from '../pool';

/** Statements with which a node reads and writes the partitions that it holds. */

export interface HeldPartition {
  id: string;
  epoch: number;
  /** What was left of the lease when it was read. */
  leftMs: number;
  /** The node is to give it up. */
  revoked: boolean;
}

/**
 * Renews the partitions that are held under these epochs. Rows that another transaction has locked
 * are left for the next time: a process that is stopped in the middle of a grant must not cost this
 * node all of its leases. An expired lease that no other node took is kept: a slow answer never
 * loses one.
 */
export const renewPartitions = async (
  db: Queryable,
  node: string,
  held: readonly { id: string; epoch: number }[],
  leaseMs: number,
): Promise<void> => {
  await db.query({
    name: 'renew-partitions',
    text: `
update lease l set expires_at = clock() + $4 * interval '1 ms'
from (
  select o.resource
  from lease o join unnest($2::text[], $3::bigint[]) k (id, epoch) on k.id = o.resource and k.epoch = o.epoch
  where o.resource = any($2::text[]) and o.holder = $1
  order by o.resource for no key update of o skip locked) m
where l.resource = any($2::text[]) and l.resource = m.resource`,
    values: [node, held.map(({ id }) => id), held.map(({ epoch }) => epoch), leaseMs],
  });
};

/**
 * Returns everything that this node holds now, including what it was given since it last looked.
 */
export const readHeldPartitions = async (db: Queryable, node: string): Promise<HeldPartition[]> => {
  const { rows } = await db.query<HeldPartition>({
    name: 'read-held-partitions',
    text: `
select l.resource as id, l.epoch, (extract(epoch from l.expires_at - clock()) * 1000)::float8 as "leftMs",
  l.revoked_at is not null as revoked
from lease l
where l.holder = $1 and l.resource like 'partition/%' and l.expires_at > clock()`,
    values: [node],
  });
  return rows;
};

/**
 * Gives partitions up immediately. `kept`: reserves them, for that time, for a node of this name
 * that is about to come back; not those that were asked back.
 */
export const releasePartitions = async (
  db: Queryable,
  node: string,
  held: readonly { id: string; epoch: number }[],
  kept: { name: string; forMs: number } | null,
): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'release-partitions',
    text: `
update lease l set holder = null, expires_at = clock(), revoked_at = null, reason = coalesce(l.reason,
  '') || '; given up by ' || $1,
  kept_for = case when l.revoked_at is null then $4::text end, kept_until = case when l.revoked_at is null
    and $4::text is not null then clock() + $5::float8 * interval '1 ms' end
from unnest($2::text[], $3::bigint[]) k (id, epoch)
where l.resource = any($2::text[]) and l.resource = k.id and l.epoch = k.epoch and l.holder = $1
  returning l.resource as id`,
    values: [node, held.map(({ id }) => id), held.map(({ epoch }) => epoch), kept?.name ?? null, kept?.forMs ?? null],
  });
  return rows.map(({ id }) => id);
};

/**
 * Returns in how many ms the next other node that holds partitions will have been silent for a
 * lease; null: there is none.
 */
export const nextSilenceInMs = async (db: Queryable, node: string, leaseMs: number): Promise<number | null> => {
  const { rows } = await db.query<{ inMs: number | null }>({
    name: 'next-silence',
    text: `
select (extract(epoch from min(n.seen_at) - clock()) * 1000)::float8 + $2 as "inMs"
from node n
where n.id <> $1 and exists (select from lease l where l.holder = n.id and l.resource like 'partition/%')`,
    values: [node, leaseMs],
  });
  return rows[0]!.inMs;
};

import type { Queryable } from './pool';

/**
 * Leases: a resource has at most one holder at a time, by the database's clock. The epoch rises
 * with every change of holder and never falls, so that a write that names an old one is refused.
 */

/**
 * Acquires the lease if there is none, it has expired, or the caller holds it. Returns the epoch,
 * or null: another process holds it. Reads first: an upsert locks the row also where it loses, and
 * every worker of an installation asks every two seconds.
 */
export const acquireLease = async (
  db: Queryable,
  resource: string,
  holder: string,
  leaseMs: number,
): Promise<number | null> => {
  if (await isHeldByAnother(db, resource, holder)) return null;
  const { rows } = await db.query<{ epoch: number }>({
    name: 'acquire-lease',
    text: `
insert into lease as l (resource, holder, epoch, acquired_at, expires_at) values ($1, $2, 1, clock(),
  clock() + $3 * interval '1 ms')
on conflict (resource) do update set holder = excluded.holder, expires_at = excluded.expires_at,
  epoch = l.epoch + (l.holder <> excluded.holder or l.expires_at <= clock())::int,
  acquired_at = case when l.holder = excluded.holder and l.expires_at > clock() then l.acquired_at
    else excluded.acquired_at end
where l.holder = excluded.holder or l.expires_at <= clock()
returning epoch`,
    values: [resource, holder, leaseMs],
  });
  return rows[0]?.epoch ?? null;
};

const isHeldByAnother = async (db: Queryable, resource: string, holder: string): Promise<boolean> => {
  const { rows } = await db.query({
    name: 'find-lease',
    text: 'select from lease where resource = $1 and holder <> $2 and expires_at > clock()',
    values: [resource, holder],
  });
  return rows.length > 0;
};

/**
 * Releases the lease: the next holder need not wait for its expiry. The row stays, or the epoch
 * would start again.
 */
export const releaseLease = async (db: Queryable, resource: string, holder: string, epoch: number): Promise<void> => {
  await db.query({
    name: 'release-lease',
    text: 'update lease set expires_at = clock() where resource = $1 and holder = $2 and epoch = $3',
    values: [resource, holder, epoch],
  });
};

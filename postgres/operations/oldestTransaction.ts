import type { Queryable } from '../pool';

/** What has kept vacuum for longest from removing rows that were deleted meanwhile. */
export interface OldestTransaction {
  kind: 'session' | 'prepared' | 'slot';
  /** Process id of a session, id of a prepared transaction, name of a replication slot. */
  name: string;
  /** Null: a slot has none. */
  role: string | null;
  /** What the session says it is; null: it says nothing, or this role may not see it. */
  application: string | null;
  /** For how long, in seconds; null: this role may not see it, or it is a slot. */
  seconds: number | null;
  /** Number of its transaction: the same as long as it stands. */
  xid: string;
  /** Transactions that have begun since. */
  transactions: number;
}

/**
 * Returns the oldest one that keeps rows of this database; null: there is none. Sessions of other
 * roles hide when their transactions began from a role without `pg_read_all_stats`, not their
 * numbers. A vacuum keeps nothing from another one, and autovacuum, which has no role, ends by
 * itself.
 */
export const readOldestTransaction = async (db: Queryable): Promise<OldestTransaction | null> => {
  const { rows } = await db.query<OldestTransaction>({
    name: 'read-oldest-transaction',
    text: `
select h.kind, h.name, h.role, nullif(h.application, '') as application,
  extract(epoch from server_time() - h.since)::float8 as seconds, h.xid::text as xid, h.age as transactions
from (
  select 'session' as kind, a.pid::text as name, a.usename::text as role, a.application_name as application,
    a.xact_start as since, coalesce(a.backend_xid, a.backend_xmin) as xid,
    -- What it sees may be older than what it writes.
    greatest(age(a.backend_xid), age(a.backend_xmin)) as age
  from pg_stat_activity a
  where coalesce(a.backend_xid, a.backend_xmin) is not null and a.usesysid is not null
    and coalesce(a.datname, current_database()) = current_database()
    and a.pid <> pg_backend_pid() and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
  union all
  select 'prepared', p.gid, p.owner::text, null, p.prepared, p.transaction, age(p.transaction)
  from pg_prepared_xacts p
  where p.database = current_database()
  union all
  select 'slot', s.slot_name::text, null, null, null, s.xmin, age(s.xmin)
  from pg_replication_slots s
  where s.xmin is not null) h
order by h.age desc, h.since, h.name limit 1`,
  });
  return rows[0] ?? null;
};

/** Says who holds it, as an operator would look it up. */
export const holderOf = ({ kind, name, role, application }: OldestTransaction): string => {
  if (kind === 'slot') return `replication slot ${name}`;
  if (kind === 'prepared') return `prepared transaction ${name} of ${role}`;
  return `session ${name} of ${role}${application === null ? '' : ` (${application})`}`;
};

/** Says how to end it. */
export const endOf = ({ kind, name }: OldestTransaction): string => {
  const quoted = `'${name.replaceAll("'", "''")}'`;
  if (kind === 'slot') return `Let its replica catch up, or drop it: select pg_drop_replication_slot(${quoted}).`;
  if (kind === 'prepared') return `End it: commit prepared ${quoted}, or rollback prepared ${quoted}.`;
  return `End what it runs, or: select pg_terminate_backend(${name}).`;
};

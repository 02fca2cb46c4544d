import { BYTES_OF_LABELS } from '../grouping/labels';
import type { Queryable } from '../pool';

/** Statements about tenants: their limits, and what they use. */

/** What a tenant may have; null: as much as it likes. */
export interface TenantLimits {
  /** Tasks that wait to be put into batches. */
  maxQueued: number | null;
  /** Bytes of their payloads, labels, dependencies and keys, and of the state keys of batches. */
  maxBytes: number | null;
  /** Targets with such tasks. */
  maxTargets: number | null;
  /** Executions that have not ended. */
  maxExecutions: number | null;
  /** Items of executions and fan-outs that have not ended; each such fan-out counts as one more. */
  maxItems: number | null;
  /** Tasks, items and fan-outs that are accepted per second, by each process of the API. */
  maxPerSecond: number | null;
}
export const NO_QUOTAS: TenantLimits = {
  maxQueued: null,
  maxBytes: null,
  maxTargets: null,
  maxExecutions: null,
  maxItems: null,
  maxPerSecond: null,
};
export interface TenantRow extends TenantLimits {
  name: string;
  createdAt: Date;
}

const COLUMNS = `name, max_queued::float8 as "maxQueued", max_bytes::float8 as "maxBytes", max_targets as "maxTargets",
  max_executions as "maxExecutions", max_items::float8 as "maxItems", max_per_second as "maxPerSecond",
  created_at as "createdAt"`;

/** Inserts a tenant, or changes the limits of one. */
export const upsertTenant = async (db: Queryable, name: string, limits: TenantLimits): Promise<TenantRow> => {
  const { rows } = await db.query<TenantRow>({
    name: 'upsert-tenant',
    text: `
insert into tenant (name, max_queued, max_bytes, max_targets, max_executions, max_items, max_per_second, created_at)
values ($1, $2, $3, $4, $5, $6, $7, clock())
on conflict (name) do update
set max_queued = $2, max_bytes = $3, max_targets = $4, max_executions = $5, max_items = $6, max_per_second = $7
returning ${COLUMNS}`,
    values: [
      name,
      limits.maxQueued,
      limits.maxBytes,
      limits.maxTargets,
      limits.maxExecutions,
      limits.maxItems,
      limits.maxPerSecond,
    ],
  });
  return rows[0]!;
};

export const readTenants = async (db: Queryable): Promise<TenantRow[]> => {
  const { rows } = await db.query<TenantRow>({
    name: 'read-tenants',
    text: `select ${COLUMNS} from tenant order by name`,
  });
  return rows;
};

export const findTenant = async (db: Queryable, name: string): Promise<TenantRow | null> => {
  const { rows } = await db.query<TenantRow>({
    name: 'find-tenant',
    text: `select ${COLUMNS} from tenant where name = $1`,
    values: [name],
  });
  return rows[0] ?? null;
};

/** Returns those of these names that are of tenants. */
export const findNamesOfTenants = async (db: Queryable, names: readonly string[]): Promise<Set<string>> => {
  const { rows } = await db.query<{ name: string }>({
    name: 'find-names-of-tenants',
    text: 'select name from tenant where name = any($1::text[])',
    values: [names],
  });
  return new Set(rows.map(({ name }) => name));
};

/**
 * Deletes a tenant that no valid token is limited to. False: there is none, or it has such a token.
 */
export const deleteTenant = async (db: Queryable, name: string): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'delete-tenant',
    text: `
delete from tenant
where name = $1
  and not exists (
    select
    from api_token
    where tenant = $1 and revoked_at is null and (expires_at is null or expires_at > clock())
  )`,
    values: [name],
  });
  return rowCount === 1;
};

/** Tasks of a tenant that wait, in whatever queue. */
export interface Backlog {
  queued: number;
  bytes: number;
  /** `[handler, key of a target]` of each target with such tasks, at most `maxTargets` of them. */
  targets: [handler: string, key: string][];
}

/**
 * Counts the tasks that wait and whose ids begin with `prefix`: also those of batches of lanes that
 * were not sent. Their bytes are also those of labels, dependencies and keys, and of their batches'
 * keys; not those of what batches depend on. Reads every task that waits.
 */
export const readBacklog = async (db: Queryable, prefix: string, maxTargets: number): Promise<Backlog> => {
  const { rows } = await db.query<Backlog>({
    name: 'read-tenant-backlog',
    text: `
with unsent as materialized (
  select s.batch_id, s.target_id, s.reads || s.writes as keys
  from lane_batch s join lane l on l.id = s.lane_id
  where s.status in (0 /* unsubmitted */, 1 /* delayed */) and starts_with(l.service, $1)
),
waiting as (
  select w.target_id, count(*) as n, sum(t.bytes + ${BYTES_OF_LABELS} + coalesce(d.bytes, 0)
    + coalesce(octet_length(t.key), 0) + coalesce(octet_length(array_to_string(w.keys, '')), 0)) as bytes
  from (
    select target_id, seq, null::text[] as keys
    from queue
    union all
    select target_id, seq, null
    from delayed
    union all
    select target_id, seq, reads || writes
    from lane_queue
    union all
    select target_id, seq, null
    from held
    union all
    select u.target_id, m.seq, null
    from unsent u join batch b on b.id = u.batch_id cross join unnest(b.members) m (seq)
  ) w
  join task t on t.seq = w.seq
  left join task_label l on l.seq = w.seq
  left join (
    select seq, sum(octet_length(needs_id)) as bytes
    from task_dependency
    group by seq
  ) d on d.seq = w.seq
  where starts_with(t.id, $1)
  group by w.target_id
)
select
  coalesce(sum(n), 0)::float8 as queued,
  (coalesce(sum(bytes), 0)
    + (select coalesce(sum(octet_length(array_to_string(keys, ''))), 0) from unsent))::float8 as bytes,
  (
    select coalesce(jsonb_agg(jsonb_build_array(h.name, g.key)), '[]'::jsonb)
    from (select target_id from waiting limit $2) few
    join target g on g.id = few.target_id
    join handler h on h.id = g.handler_id
  ) as targets
from waiting`,
    values: [prefix, maxTargets],
  });
  return rows[0]!;
};

/** Executions and fan-outs of a tenant that have not ended. */
export interface Unfinished {
  executions: number;
  items: number;
}

export const readUnfinished = async (db: Queryable, tenant: string): Promise<Unfinished> => {
  const { rows } = await db.query<Unfinished>({
    name: 'read-tenant-unfinished',
    text: `
select
  (e.n)::int as executions,
  (e.items + f.items)::float8 as items
from (
  select count(*) as n, coalesce(sum(items), 0) as items
  from execution
  where tenant = $1 and state in (0 /* created */, 1 /* in progress */, 2 /* staging */)
) e
cross join (
  select count(*) + coalesce(sum(items), 0) as items
  from fanout
  where tenant = $1 and state in (0 /* open */, 1 /* sealed */)
) f`,
    values: [tenant],
  });
  return rows[0]!;
};

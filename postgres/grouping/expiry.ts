import type { Client, Queryable } from '../pool';

/** Statements about when waiting tasks expire. */

/** Writes down when tasks expire, in the transaction that inserts them. */
export const insertExpiries = async (
  db: Queryable,
  tasks: readonly { id: string; expiresAtMs: number | null }[],
): Promise<void> => {
  const expiring = tasks.filter(({ expiresAtMs }) => expiresAtMs !== null);
  if (expiring.length === 0) return;
  await db.query({
    name: 'insert-expiries',
    text: `
insert into expiry (seq, at)
select k.seq, to_timestamp(e.ms / 1000)
from unnest($1::text[], $2::float8[]) e (id, ms) join task k on k.id = e.id
on conflict (seq) do nothing`,
    values: [expiring.map(({ id }) => id), expiring.map(({ expiresAtMs }) => expiresAtMs)],
  });
};

/** Says whether one has passed. */
export const hasExpired = async (db: Queryable): Promise<boolean> => {
  const { rows } = await db.query<{ some: boolean }>({
    name: 'has-expired',
    text: 'select exists (select from expiry where at <= clock()) as some',
  });
  return rows[0]!.some;
};

/** Takes those that have passed and that no other process takes; the task may be gone: null. */
export const takeExpired = async (client: Client, limit: number): Promise<{ seq: number; id: string | null }[]> => {
  const { rows } = await client.query<{ seq: number; id: string | null }>({
    name: 'take-expired',
    text: `
select e.seq, k.id
from expiry e left join task k on k.seq = e.seq
where e.at <= clock()
order by e.at limit $1 for update of e skip locked`,
    values: [limit],
  });
  return rows;
};

export const deleteExpiries = async (client: Client, seqs: readonly number[]): Promise<void> => {
  await client.query({
    name: 'delete-expiries',
    text: 'delete from expiry where seq = any($1::bigint[])',
    values: [seqs],
  });
};

/** Looks at tasks again later: they are in a batch, and may come back. */
export const putOffExpiries = async (client: Client, seqs: readonly number[], ms: number): Promise<void> => {
  await client.query({
    name: 'put-off-expiries',
    text: `
update expiry set at = clock() + $2 * interval '1 ms', expires_at = coalesce(expires_at, at)
where seq = any($1::bigint[])`,
    values: [seqs, ms],
  });
};

/**
 * Locks when tasks expire, before their targets are locked, as `takeExpired` does: it passes over
 * them.
 */
export const lockExpiries = async (client: Client, seqs: readonly number[]): Promise<void> => {
  await client.query({
    name: 'lock-expiries',
    text: 'select from expiry where seq = any($1::bigint[]) order by seq for update',
    values: [seqs],
  });
};

/** Sets when tasks expire (Unix milliseconds), also of those that never did. */
export const setExpiries = async (client: Client, seqs: readonly number[], ms: number): Promise<void> => {
  await client.query({
    name: 'set-expiries',
    text: `
insert into expiry (seq, at)
select s.seq, to_timestamp($2::float8 / 1000)
from unnest($1::bigint[]) s (seq)
on conflict (seq) do update set at = excluded.at, expires_at = null`,
    values: [seqs, ms],
  });
};

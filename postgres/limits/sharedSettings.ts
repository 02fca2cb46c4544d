import type { SharedOverrides, SharedValues } from '../../workflows/planning/limits/sharing';
import type { Queryable } from '../pool';

/** A limit that handlers share: what is defined, and what was set in its place. */
export interface SharedLimitFacts {
  id: number;
  name: string;
  defined: SharedValues;
  overrides: SharedOverrides;
  paces: number[];
  /** Handlers that share it, by name. */
  handlers: string[];
  nowMs: number;
}

const FACTS = `
select s.id, s.name, s.defined, coalesce(s.limits, '{}') as overrides, s.paces, coalesce((
    select json_agg(h.name order by h.name)
    from handler h
    where h.shares = s.id), '[]') as handlers,
  (extract(epoch from clock()) * 1000)::float8 as "nowMs"
from shared_limit s`;

/** Returns a limit that handlers share. Null: there is none of this name. */
export const readSharedLimit = async (db: Queryable, name: string): Promise<SharedLimitFacts | null> => {
  const { rows } = await db.query<SharedLimitFacts>({
    name: 'read-shared-limit',
    text: `${FACTS}
where s.name = $1`,
    values: [name],
  });
  return rows[0] ?? null;
};

/** Returns a page of them, by name. */
export const listSharedLimits = async (
  db: Queryable,
  page: { after: string; limit: number },
): Promise<SharedLimitFacts[]> => {
  const { rows } = await db.query<SharedLimitFacts>({
    name: 'list-shared-limits',
    text: `${FACTS}
where s.name > $1
order by s.name limit $2`,
    values: [page.after, page.limit],
  });
  return rows;
};

/**
 * Locks the handlers that share a limit and then the limit, as claims do, and returns it. Locks
 * until the transaction ends. Null: there is none of this name.
 */
export const lockSharedLimit = async (db: Queryable, name: string): Promise<SharedLimitFacts | null> => {
  await db.query({
    name: 'lock-sharing-handlers',
    text: `
select from handler h join shared_limit s on s.id = h.shares
where s.name = $1
order by h.id for no key update of h`,
    values: [name],
  });
  const { rows } = await db.query<SharedLimitFacts>({
    name: 'lock-limit-of-name',
    text: `${FACTS}
where s.name = $1 for no key update`,
    values: [name],
  });
  return rows[0] ?? null;
};

/** Writes the shared limit that counts from now on. `overrides`: null, none is set. */
export const writeSharedLimit = async (
  db: Queryable,
  id: number,
  limits: {
    inForce: SharedValues;
    overrides: SharedOverrides | null;
    untilMs: number | null;
    paces: readonly number[];
  },
): Promise<void> => {
  const { inForce, overrides, untilMs, paces } = limits;
  await db.query({
    name: 'write-shared-limit',
    text: `
update shared_limit set limits = $2, limits_until = to_timestamp($3::float8 / 1000), concurrency = $4, rates = $5,
  paces = $6
where id = $1`,
    values: [
      id,
      overrides === null ? null : JSON.stringify(overrides),
      untilMs,
      inForce.concurrency,
      JSON.stringify(inForce.rate),
      paces,
    ],
  });
};

/** Lets running dispatches of all that share a limit hand back what they have not started. */
export const countSharedRateChange = async (db: Queryable, id: number): Promise<void> => {
  await db.query({
    name: 'count-shared-rate-change',
    text: `
update handler set rate_changes = rate_changes + 1, share_ms = null
where shares = $1`,
    values: [id],
  });
};

/** Returns the shared limits of which a setting has ended by the database's clock. */
export const findExpiredSharedLimits = async (db: Queryable, limit: number): Promise<string[]> => {
  const { rows } = await db.query<{ name: string }>({
    name: 'find-expired-shared-limits',
    text: `
select name
from shared_limit
where limits_until <= clock()
limit $1`,
    values: [limit],
  });
  return rows.map(({ name }) => name);
};

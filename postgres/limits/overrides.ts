import type { LimitValues, Overrides } from '../../workflows/planning/limits/limits';
import type { Queryable } from '../pool';
import { DEFINED, IN_FORCE } from './handlerLimits';

/** A handler, or one of its targets, for which limits were set. */
export interface OverriddenScope {
  handlerId: number;
  handler: string;
  targetId: number | null;
  target: string | null;
  /** What is defined of the handler; of a target, what its handler has. */
  defined: LimitValues;
  overrides: Overrides;
}

/**
 * Returns a page of the handlers and targets for which limits were set, in the order of their
 * names; a handler comes before its targets.
 */
export const listOverrides = async (
  db: Queryable,
  page: { handler: string | null; after: { handler: string; target: string | null } | null; limit: number },
): Promise<OverriddenScope[]> => {
  const { rows } = await db.query<OverriddenScope>({
    name: 'list-overrides',
    text: `
select s."handlerId", s.handler, s."targetId", nullif(s.key, '') as target, s.defined, s.overrides
from (
  select h.id as "handlerId", h.name as handler, null::int as "targetId", '' as key, ${DEFINED} as defined,
    h.limits as overrides
  from handler h
  where h.limits is not null
  union all select h.id, h.name, t.id, t.key, ${IN_FORCE}, t.limits
  from target t join handler h on h.id = t.handler_id
  where t.limits is not null) s
where ($1::text is null or s.handler = $1) and ($2::text is null or (s.handler, s.key) > ($2, $3))
order by s.handler, s.key limit $4`,
    values: [page.handler, page.after?.handler ?? null, page.after?.target ?? '', page.limit],
  });
  return rows;
};

/** A handler, or one of its targets, of which a limit has ended. */
export interface ExpiredLimit {
  handlerId: number;
  handler: string;
  targetId: number | null;
  target: string | null;
}

/** Returns handlers and targets of which a limit has ended by the database's clock. */
export const findExpiredLimits = async (db: Queryable, limit: number): Promise<ExpiredLimit[]> => {
  const { rows } = await db.query<ExpiredLimit>({
    name: 'find-expired-limits',
    text: `
select h.id as "handlerId", h.name as handler, null::int as "targetId", null::text as target
from handler h
where h.limits_until <= clock()
union all select h.id, h.name, t.id, t.key
from target t join handler h on h.id = t.handler_id
where t.limits_until <= clock()
limit $1`,
    values: [limit],
  });
  return rows;
};

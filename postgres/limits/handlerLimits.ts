import type { LimitValues, Overrides } from '../../workflows/planning/limits/limits';
import type { Queryable } from '../pool';

/** The limits of a handler: what is defined, and what was set in its place. */
export interface HandlerLimitsFacts {
  id: number;
  name: string;
  defined: LimitValues;
  overrides: Overrides;
  /** Most weight of one batch: with less in flight a full batch could never go. */
  maxWeight: number | null;
  paces: number[];
  nowMs: number;
}

/** What counts, of handler `h`. */
export const IN_FORCE = `jsonb_build_object('rate', h.rates, 'concurrency.perTarget', h.per_target,
  'concurrency.perHandler', h.per_handler, 'maxWeightInFlight.perTarget', h.weight_per_target,
  'maxWeightInFlight.perHandler', h.weight_per_handler)`;
/** What is defined. A handler that an earlier version registered has nothing set. */
export const DEFINED = `coalesce(h.defined, ${IN_FORCE})`;

const FACTS = `
select h.id, h.name, ${DEFINED} as defined, coalesce(h.limits, '{}') as overrides, h.max_weight as "maxWeight", h.paces,
  (extract(epoch from clock()) * 1000)::float8 as "nowMs"
from handler h
where h.id = $1`;

/** Returns the limits of a handler. Null: there is no such handler. */
export const readHandlerLimits = async (db: Queryable, handlerId: number): Promise<HandlerLimitsFacts | null> => {
  const { rows } = await db.query<HandlerLimitsFacts>({
    name: 'read-limits-of-handler',
    text: FACTS,
    values: [handlerId],
  });
  return rows[0] ?? null;
};

/** The same, locked until the transaction ends: changes of one handler come one after another. */
export const lockHandlerLimits = async (db: Queryable, handlerId: number): Promise<HandlerLimitsFacts | null> => {
  const { rows } = await db.query<HandlerLimitsFacts>({
    name: 'lock-limits-of-handler',
    text: `${FACTS} for no key update`,
    values: [handlerId],
  });
  return rows[0] ?? null;
};

/** Writes the limits that count from now on. `overrides`: null, none is set. */
export const writeHandlerLimits = async (
  db: Queryable,
  handlerId: number,
  limits: {
    defined: LimitValues;
    inForce: LimitValues;
    overrides: Overrides | null;
    untilMs: number | null;
    paces: readonly number[];
  },
): Promise<void> => {
  const { defined, inForce, overrides, untilMs, paces } = limits;
  await db.query({
    name: 'write-limits-of-handler',
    text: `
update handler set defined = $10, limits = $2, limits_until = to_timestamp($3::float8 / 1000),
  per_target = $4, per_handler = $5, weight_per_target = $6, weight_per_handler = $7, rates = $8, paces = $9
where id = $1`,
    values: [
      handlerId,
      overrides === null ? null : JSON.stringify(overrides),
      untilMs,
      inForce['concurrency.perTarget'],
      inForce['concurrency.perHandler'],
      inForce['maxWeightInFlight.perTarget'],
      inForce['maxWeightInFlight.perHandler'],
      JSON.stringify(inForce.rate),
      paces,
      JSON.stringify(defined),
    ],
  });
};

/** Lets running dispatches of a handler hand back what they have not started: its rates changed. */
export const countRateChange = async (db: Queryable, handlerId: number): Promise<void> => {
  await db.query({
    name: 'count-rate-change',
    text: 'update handler set rate_changes = rate_changes + 1 where id = $1',
    values: [handlerId],
  });
};

import { PACE_HORIZON_MS } from '../../workflows/planning/grouping/claim';
import type { Overrides, RateLimit } from '../../workflows/planning/limits/limits';
import type { Repacing } from '../../workflows/planning/limits/repace';
import type { Queryable } from '../pool';

/** What was set for one target in place of its handler's limits. */
export interface TargetLimitsFacts {
  key: string;
  overrides: Overrides;
  paces: number[];
}

const FACTS = `
select t.key, coalesce(t.limits, '{}') as overrides, t.paces
from target t
where t.id = $1`;

/** Returns what was set for a target. Null: there is no such target. */
export const readTargetLimits = async (db: Queryable, targetId: number): Promise<TargetLimitsFacts | null> => {
  const { rows } = await db.query<TargetLimitsFacts>({
    name: 'read-limits-of-target',
    text: FACTS,
    values: [targetId],
  });
  return rows[0] ?? null;
};

/** The same, locked until the transaction ends; after the handler's row, as claims lock them. */
export const lockTargetLimits = async (db: Queryable, targetId: number): Promise<TargetLimitsFacts | null> => {
  const { rows } = await db.query<TargetLimitsFacts>({
    name: 'lock-limits-of-target',
    text: `${FACTS} for no key update`,
    values: [targetId],
  });
  return rows[0] ?? null;
};

/**
 * Holds where target `t` is held by its own rate, not by back pressure: the claim holds it until
 * half of its horizon before the next start.
 */
const HELD_BY_RATE = `exists (
  select from unnest(t.paces) p (at)
  where abs((extract(epoch from t.hold_until) * 1000)::float8 + ${PACE_HORIZON_MS / 2} - p.at) < 1)`;

/** Writes what was set for a target; null in place of a value: the handler's counts. */
export const writeTargetLimits = async (
  db: Queryable,
  targetId: number,
  limits: {
    overrides: Overrides | null;
    untilMs: number | null;
    calls: number | null;
    weight: number | null;
    rates: readonly RateLimit[] | null;
    paces: readonly number[];
  },
): Promise<void> => {
  const { overrides, untilMs, calls, weight, rates, paces } = limits;
  await db.query({
    name: 'write-limits-of-target',
    text: `
update target t set limits = $2, limits_until = to_timestamp($3::float8 / 1000), per_target = $4,
  weight_per_target = $5, rates = $6, paces = $7, hold_until = case when not ${HELD_BY_RATE} then t.hold_until end
where t.id = $1`,
    values: [
      targetId,
      overrides === null ? null : JSON.stringify(overrides),
      untilMs,
      calls,
      weight,
      rates === null ? null : JSON.stringify(rates),
      paces,
    ],
  });
};

/**
 * Lets the states of the rates per target follow a change of the handler's, for all targets that
 * have none of their own. Locks them in id order, as everywhere. A target whose rates have all room
 * again is left alone: a time that has passed means the same under any rate, and a handler may have
 * a million of these.
 */
export const repaceTargets = async (db: Queryable, handlerId: number, how: readonly Repacing[]): Promise<void> => {
  await db.query({
    name: 'repace-targets',
    text: `
with paced as materialized (
  select t.id
  from target t
  where t.handler_id = $1 and t.rates is null and t.paces <> '{}' and exists (
    select from unnest(t.paces) p (at)
    where p.at > (extract(epoch from clock()) * 1000)::float8)
  order by t.id for no key update)
update target t set hold_until = case when not ${HELD_BY_RATE} then t.hold_until end, paces = array(
  select case when u.at > c.ms then c.ms + least((u.at - c.ms) * u.factor, u.most) else 0 end
  from unnest(t.paces, $2::float8[], $3::float8[]) with ordinality u (at, factor, most, place)
  where u.factor is not null
  order by u.place)
from paced, (select (extract(epoch from clock()) * 1000)::float8 as ms) c
where t.id = paced.id`,
    values: [handlerId, how.map(({ factor }) => factor), how.map(({ mostMs }) => mostMs)],
  });
};

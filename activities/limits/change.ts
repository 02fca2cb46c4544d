import type {
  ChangedLimit,
  LimitChange,
  LimitValues,
  Overrides,
  RateLimit,
} from '../../workflows/planning/limits/limits';
import type { Settings } from '../../workflows/planning/limits/overrides';
import {
  changedLimits,
  changeOverrides,
  firstUntilMs,
  inForce,
  unexpired,
} from '../../workflows/planning/limits/overrides';
import { repaced, repacings } from '../../workflows/planning/limits/repace';
import type { HandlerLimitsFacts } from '../../postgres/limits/handlerLimits';
import { countRateChange, lockHandlerLimits, writeHandlerLimits } from '../../postgres/limits/handlerLimits';
import { lockTargetLimits, repaceTargets, writeTargetLimits } from '../../postgres/limits/targetLimits';
import type { Client, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { withRetries } from '../../postgres/errors';
import { BEGIN_SHORT } from '../../postgres/shortTransaction';

/** A handler, or one of its targets. */
export interface LimitScope {
  handlerId: number;
  targetId: number | null;
}

/** What decides the new overrides, from those of now by the database's clock. */
export type Decide = (overrides: Overrides, at: { nowMs: number; facts: HandlerLimitsFacts }) => Overrides;

/** What a change did: which limits count differently now, and what is set. */
export interface LimitsChanged {
  changed: ChangedLimit[];
  overrides: Overrides;
  defined: LimitValues;
}

/** Returns what sets and removes limits as asked; `untilMs` null: until they are removed. */
export const asked =
  (change: LimitChange, by: string, untilMs: (nowMs: number) => number | null): Decide =>
  (overrides, { nowMs }) =>
    changeOverrides(overrides, change, { by, nowMs, untilMs: untilMs(nowMs) });

/** Removes what has ended. */
export const expired: Decide = (overrides) => overrides;

/**
 * Changes limits of a handler or a target in one transaction, under the handler's lock: claims of
 * that handler see all of it or nothing. The caller wakes afterwards. Null: the scope is gone.
 */
export const changeLimits = (pool: Pool, scope: LimitScope, decide: Decide): Promise<LimitsChanged | null> =>
  withRetries(() =>
    inTransaction(
      pool,
      async (client) => {
        const facts = await lockHandlerLimits(client, scope.handlerId);
        if (facts === null) return null;
        return scope.targetId === null
          ? changeHandler(client, facts, decide)
          : changeTarget(client, facts, scope.targetId, decide);
      },
      BEGIN_SHORT,
    ),
  );

const changeHandler = async (client: Client, facts: HandlerLimitsFacts, decide: Decide): Promise<LimitsChanged> => {
  const { id, defined, nowMs } = facts;
  const before = inForce(defined, facts.overrides);
  const overrides = decide(unexpired(facts.overrides, nowMs), { nowMs, facts });
  const after = inForce(defined, overrides);
  const changed = changedLimits(before, after);
  const isRepaced = changed.some(({ limit }) => limit === 'rate');
  await writeHandlerLimits(client, id, {
    defined,
    inForce: after,
    ...storedOf(overrides),
    paces: isRepaced ? repaced(facts.paces, repacings(before.rate, after.rate, 'handler'), nowMs) : facts.paces,
  });
  if (isRepaced) {
    await repaceTargets(client, id, repacings(before.rate, after.rate, 'target'));
    await countRateChange(client, id);
  }
  return { changed, overrides, defined };
};

const changeTarget = async (
  client: Client,
  facts: HandlerLimitsFacts,
  targetId: number,
  decide: Decide,
): Promise<LimitsChanged | null> => {
  const { nowMs } = facts;
  const target = await lockTargetLimits(client, targetId);
  if (target === null) return null;
  const defined = ofTarget(inForce(facts.defined, facts.overrides));
  const before = inForce(defined, target.overrides);
  const overrides = decide(unexpired(target.overrides, nowMs), { nowMs, facts });
  const after = inForce(defined, overrides);
  const changed = changedLimits(before, after);
  const isRepaced = changed.some(({ limit }) => limit === 'rate');
  await writeTargetLimits(client, targetId, {
    ...storedOf(overrides),
    calls: overrides['concurrency.perTarget']?.value ?? null,
    weight: overrides['maxWeightInFlight.perTarget']?.value ?? null,
    rates: overrides.rate?.value ?? null,
    paces: isRepaced ? repaced(target.paces, repacings(before.rate, after.rate, 'target'), nowMs) : target.paces,
  });
  if (isRepaced) await countRateChange(client, facts.id);
  return { changed, overrides, defined };
};

/** Returns what is set as it is stored: null, nothing is. */
export const storedOf = <V>(overrides: Settings<V>): { overrides: Settings<V> | null; untilMs: number | null } => ({
  overrides: Object.keys(overrides).length === 0 ? null : overrides,
  untilMs: firstUntilMs(overrides),
});

/** Returns the handler's limits as a target has them for which none is set. */
export const ofTarget = (values: LimitValues): LimitValues => ({
  ...values,
  rate: values.rate.filter(({ scope }: RateLimit) => scope === 'target'),
});

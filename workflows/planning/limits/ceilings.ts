import type { LimitChange, LimitName, RateLimit } from './limits';

/** The most that callers of the HTTP API may set; what is left out has no ceiling. */
export type LimitCeilings = Omit<LimitChange, 'rate'> & { readonly rate?: readonly RateLimit[] };

/** Ceilings by name of the handler; `*`: of all that are not named. */
export type CeilingsByHandler = Readonly<Record<string, LimitCeilings>>;

/** A limit above its ceiling. */
export interface AboveCeiling {
  limit: LimitName;
  most: string;
}

/** Returns the ceilings of a handler. */
export const ceilingsOf = (all: CeilingsByHandler, handler: string): LimitCeilings =>
  (Object.hasOwn(all, handler) ? all[handler] : all['*']) ?? {};

/**
 * Returns what is asked for above its ceiling. "As defined" is never above: the definition is the
 * operator's. A rate is below if one of the same unit is at least as slow, over the same calls or
 * over more of them.
 */
export const aboveCeilings = (ceilings: LimitCeilings, change: LimitChange, ofTarget: boolean): AboveCeiling[] => {
  const numbers = NUMBERS.flatMap((limit): AboveCeiling[] => {
    const [most, asked] = [ceilings[limit], change[limit]];
    return most == null || asked == null || asked <= most ? [] : [{ limit, most: String(most) }];
  });
  if (change.rate == null) return numbers;
  const asked = change.rate;
  const rates = (ceilings.rate ?? [])
    .filter(({ scope }) => !ofTarget || scope === 'target')
    .filter((ceiling) => !asked.some((one) => isWithin(one, ceiling)))
    .map(({ limit, perMs, unit, scope }) => ({
      limit: 'rate' as const,
      most: `${limit} ${unit} per ${perMs} ms and ${scope}`,
    }));
  return [...numbers, ...rates];
};

const NUMBERS = [
  'concurrency.perTarget',
  'concurrency.perHandler',
  'maxWeightInFlight.perTarget',
  'maxWeightInFlight.perHandler',
] as const satisfies readonly LimitName[];

const isWithin = (rate: RateLimit, ceiling: RateLimit): boolean =>
  rate.unit === ceiling.unit &&
  (rate.scope === ceiling.scope || rate.scope === 'handler') &&
  rate.limit * ceiling.perMs <= ceiling.limit * rate.perMs;

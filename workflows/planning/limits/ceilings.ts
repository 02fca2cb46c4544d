import type { LimitChange, LimitName, RateLimit } from './limits';
import type { SharedChange, SharedLimitName, SharedRate, SharedValues } from './sharing';

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
  const rates = (ceilings.rate ?? []).filter(({ scope }) => !ofTarget || scope === 'target');
  return [...numbers, ...ratesAbove(rates, change.rate).map((most) => ({ limit: 'rate' as const, most }))];
};

/**
 * Returns what is asked for above the definition of a limit that handlers share: it is what the
 * key of all of them allows, so callers of the HTTP API may only set less.
 */
export const aboveDefined = (
  defined: SharedValues,
  { rate, concurrency }: SharedChange,
): { limit: SharedLimitName; most: string }[] => {
  const calls = defined.concurrency;
  const isAbove = calls !== null && concurrency != null && concurrency > calls;
  return [
    ...(rate == null ? [] : ratesAbove(defined.rate, rate).map((most) => ({ limit: 'rate' as const, most }))),
    ...(isAbove ? [{ limit: 'concurrency' as const, most: String(calls) }] : []),
  ];
};

type AnyRate = RateLimit | SharedRate;

const ratesAbove = (ceilings: readonly AnyRate[], asked: readonly AnyRate[]): string[] =>
  ceilings
    .filter((ceiling) => !asked.some((one) => isWithin(one, ceiling)))
    .map(({ limit, perMs, unit, scope }) =>
      [`${limit} ${unit} per ${perMs} ms`, ...(scope === 'shared' ? [] : [scope])].join(' and '),
    );

const NUMBERS = [
  'concurrency.perTarget',
  'concurrency.perHandler',
  'maxWeightInFlight.perTarget',
  'maxWeightInFlight.perHandler',
] as const satisfies readonly LimitName[];

const isWithin = (rate: AnyRate, ceiling: AnyRate): boolean =>
  rate.unit === ceiling.unit &&
  (rate.scope === ceiling.scope || rate.scope === 'handler') &&
  rate.limit * ceiling.perMs <= ceiling.limit * rate.perMs;

import { DAY_MS } from '../duration';

/** Limits of a handler and of its targets that an operator may change while workers run. */

/** At most `limit` units per `perMs`, as `Rate` of a handler with its defaults filled in. */
export interface RateLimit {
  limit: number;
  perMs: number;
  unit: 'calls' | 'items' | 'weight';
  scope: 'target' | 'handler';
}

/** Bounds of rates and weights that are set: beyond them a start would not be a time any more. */
export const SETTABLE = { least: 1e-3, most: 1e9, longestMs: 30 * DAY_MS };

/** The value of each limit, by its name: the path of its setting in a definition. */
export interface LimitValues {
  rate: readonly RateLimit[];
  /** Calls at once. */
  'concurrency.perTarget': number;
  'concurrency.perHandler': number;
  /** Null: no limit. */
  'maxWeightInFlight.perTarget': number | null;
  'maxWeightInFlight.perHandler': number | null;
}
export type LimitName = keyof LimitValues;
export type LimitValue = LimitValues[LimitName];

export const LIMIT_NAMES = [
  'rate',
  'concurrency.perTarget',
  'concurrency.perHandler',
  'maxWeightInFlight.perTarget',
  'maxWeightInFlight.perHandler',
] as const satisfies readonly LimitName[];

/** The limits that a single target can have in place of its handler's. */
export const TARGET_LIMIT_NAMES = [
  'rate',
  'concurrency.perTarget',
  'maxWeightInFlight.perTarget',
] as const satisfies readonly LimitName[];

/** A limit that was set at run time, by whom and when; `until` null: it stays until removed. */
export interface Override<N extends LimitName = LimitName> {
  value: LimitValues[N];
  by: string;
  at: string;
  until: string | null;
}
export type Overrides = { readonly [N in LimitName]?: Override<N> };

/** What was asked for: null is "as defined", and a limit that is left out stays as it is. */
export type LimitChange = { readonly [N in LimitName]?: LimitValues[N] | null };

/** Returns the limits that count: what was set, or what is defined. */
export const inForce = (defined: LimitValues, overrides: Overrides): LimitValues => {
  const valueOf = <N extends LimitName>(name: N): LimitValues[N] => {
    const override = overrides[name];
    return override === undefined ? defined[name] : override.value;
  };
  return {
    rate: valueOf('rate'),
    'concurrency.perTarget': valueOf('concurrency.perTarget'),
    'concurrency.perHandler': valueOf('concurrency.perHandler'),
    'maxWeightInFlight.perTarget': valueOf('maxWeightInFlight.perTarget'),
    'maxWeightInFlight.perHandler': valueOf('maxWeightInFlight.perHandler'),
  };
};

/** Returns the overrides after a change. */
export const changeOverrides = (
  overrides: Overrides,
  change: LimitChange,
  mark: { by: string; nowMs: number; untilMs: number | null },
): Overrides => {
  const stamp = { by: mark.by, at: isoOf(mark.nowMs), until: mark.untilMs === null ? null : isoOf(mark.untilMs) };
  const entries = LIMIT_NAMES.flatMap((name): [LimitName, Override][] => {
    const value = change[name];
    if (value === undefined) return overrides[name] === undefined ? [] : [[name, overrides[name]]];
    return value === null ? [] : [[name, { value, ...stamp }]];
  });
  return Object.fromEntries(entries);
};

/** Returns the overrides whose time has not passed. */
export const unexpired = (overrides: Overrides, nowMs: number): Overrides =>
  Object.fromEntries(Object.entries(overrides).filter(([, { until }]) => until === null || Date.parse(until) > nowMs));

/** Returns when the first of them ends by itself (Unix milliseconds); null: none does. */
export const firstUntilMs = (overrides: Overrides): number | null => {
  const times = Object.values(overrides).flatMap(({ until }) => (until === null ? [] : Date.parse(until)));
  return times.length === 0 ? null : Math.min(...times);
};

/** One limit before and after a change. */
export interface ChangedLimit {
  limit: LimitName;
  from: LimitValue;
  to: LimitValue;
}

/** Returns the limits that count differently after a change. */
export const changedLimits = (before: LimitValues, after: LimitValues): ChangedLimit[] =>
  LIMIT_NAMES.filter((name) => !isSame(before[name], after[name])).map((limit) => ({
    limit,
    from: before[limit],
    to: after[limit],
  }));

const isSame = (a: LimitValue, b: LimitValue): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  return a.length === b.length && a.every((rate, i) => isSameRate(rate, b[i]!));
};

const isSameRate = (a: RateLimit, b: RateLimit): boolean =>
  a.limit === b.limit && a.perMs === b.perMs && a.unit === b.unit && a.scope === b.scope;

const isoOf = (ms: number): string => new Date(ms).toISOString();

/**
 * Returns the rates of one target: the handler's over all of its targets, and in place of those per
 * target the target's own, if it has any set.
 */
export const ratesOfTarget = <R extends Pick<RateLimit, 'scope'>>(
  ofHandler: readonly R[],
  own: readonly R[] | null,
): readonly R[] => (own === null ? ofHandler : [...ofHandler.filter(({ scope }) => scope === 'handler'), ...own]);

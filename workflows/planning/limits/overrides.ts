/**
 * What an operator has set in place of defined limits, whatever their names: of a handler, of one
 * of its targets, or of a limit that handlers share. `V` has the value of each limit by its name.
 */

/** A limit that was set at run time, by whom and when; `until` null: it stays until removed. */
export interface Setting<T> {
  value: T;
  by: string;
  at: string;
  until: string | null;
}
export type Settings<V> = { readonly [N in keyof V]?: Setting<V[N]> };

/** What was asked for: null is "as defined", and a limit that is left out stays as it is. */
export type Change<V> = { readonly [N in keyof V]?: V[N] | null };

type NameOf<V> = keyof V & string;
const namesOf = <V extends object>(values: V): NameOf<V>[] => Object.keys(values) as NameOf<V>[];

/** Returns the limits that count: what was set, or what is defined. */
export const inForce = <V extends object>(defined: V, overrides: Settings<V>): V => {
  const values = { ...defined };
  for (const name of namesOf(defined)) {
    const override = overrides[name];
    if (override !== undefined) values[name] = override.value;
  }
  return values;
};

/** Returns what is set after a change. */
export const changeOverrides = <V extends object>(
  overrides: Settings<V>,
  change: Change<V>,
  mark: { by: string; nowMs: number; untilMs: number | null },
): Settings<V> => {
  const stamp = { by: mark.by, at: isoOf(mark.nowMs), until: mark.untilMs === null ? null : isoOf(mark.untilMs) };
  const after: { -readonly [N in keyof V]?: Setting<V[N]> } = { ...overrides };
  for (const name of namesOf(change)) {
    const value = change[name];
    if (value === null) delete after[name];
    else if (value !== undefined) after[name] = { value: value, ...stamp };
  }
  return after;
};

const settingsIn = <V>(overrides: Settings<V>): [string, Setting<unknown>][] =>
  Object.entries<Setting<unknown> | undefined>(overrides).flatMap(([name, one]) =>
    one === undefined ? [] : [[name, one]],
  );

/** Returns what is set whose time has not passed. */
export const unexpired = <V>(overrides: Settings<V>, nowMs: number): Settings<V> =>
  Object.fromEntries(
    settingsIn(overrides).filter(([, { until }]) => until === null || Date.parse(until) > nowMs),
  ) as Settings<V>;

/** Returns when the first of them ends by itself (Unix milliseconds); null: none does. */
export const firstUntilMs = <V>(overrides: Settings<V>): number | null => {
  const times = settingsIn(overrides).flatMap(([, { until }]) => (until === null ? [] : Date.parse(until)));
  return times.length === 0 ? null : Math.min(...times);
};

/** One limit before and after a change. */
export interface Changed<V> {
  limit: keyof V & string;
  from: V[keyof V];
  to: V[keyof V];
}

/** Returns the limits that count differently after a change, in the order of their definition. */
export const changedLimits = <V extends object>(before: V, after: V): Changed<V>[] =>
  namesOf(before)
    .filter((name) => !isSame(before[name], after[name]))
    .map((limit) => ({ limit, from: before[limit], to: after[limit] }));

const isSame = (a: unknown, b: unknown): boolean => {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((rate, i) => isSameRate(rate as Step, b[i] as Step));
};

interface Step {
  limit: number;
  perMs: number;
  unit: string;
  scope: string;
}
const isSameRate = (a: Step, b: Step): boolean =>
  a.limit === b.limit && a.perMs === b.perMs && a.unit === b.unit && a.scope === b.scope;

const isoOf = (ms: number): string => new Date(ms).toISOString();

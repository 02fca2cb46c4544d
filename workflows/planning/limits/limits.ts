import { DAY_MS } from '../duration';
import type { Change, Changed, Setting, Settings } from './overrides';

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

/** A limit of a handler or target that was set at run time. */
export type Override<N extends LimitName = LimitName> = Setting<LimitValues[N]>;
export type Overrides = Settings<LimitValues>;

/** What was asked for: null is "as defined", and a limit that is left out stays as it is. */
export type LimitChange = Change<LimitValues>;

/** One limit of a handler or target before and after a change. */
export type ChangedLimit = Changed<LimitValues>;

/**
 * Returns the rates of one target: the handler's over all of its targets, and in place of those per
 * target the target's own, if it has any set.
 */
export const ratesOfTarget = <R extends Pick<RateLimit, 'scope'>>(
  ofHandler: readonly R[],
  own: readonly R[] | null,
): readonly R[] => (own === null ? ofHandler : [...ofHandler.filter(({ scope }) => scope === 'handler'), ...own]);

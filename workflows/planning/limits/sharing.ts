import { grantSlots } from '../grouping/slots';
import type { Change, Settings } from './overrides';

/** A limit that several handlers share, such as the budget of one API key, as one claim sees it. */
export interface SharedBudget {
  rates: readonly SharedRate[];
  /** State of the rates, in their order: when the next call of any of the handlers may start. */
  paces: readonly number[];
  /**
   * How many of the handlers want more than the rates left them when they claimed last; this one
   * counts, whether it did or not.
   */
  active: number;
  /** When this handler has had its share of what it has taken (Unix milliseconds). */
  ownMs: number;
}

/** At most `limit` units per `perMs`, over all handlers that share it. */
export interface SharedRate {
  limit: number;
  perMs: number;
  unit: 'calls' | 'items' | 'weight';
  scope: 'shared';
}

/** The value of each limit that handlers share, by its name. */
export interface SharedValues {
  rate: readonly SharedRate[];
  /** Calls at once of all of them; null: no limit. */
  concurrency: number | null;
}
export type SharedLimitName = keyof SharedValues;
export const SHARED_LIMIT_NAMES = ['rate', 'concurrency'] as const satisfies readonly SharedLimitName[];
export type SharedOverrides = Settings<SharedValues>;
export type SharedChange = Change<SharedValues>;

/**
 * Returns when a handler has had its share once it takes these units: one of `active` handlers gets
 * a unit in the time in which the rates let `active` of them start. Handlers that want nothing
 * leave their part to the others.
 */
export const shareAfter = (
  { rates, active, ownMs }: Pick<SharedBudget, 'rates' | 'active' | 'ownMs'>,
  costOf: (unit: SharedRate['unit']) => number,
  nowMs: number,
): number => {
  const longestMs = Math.max(0, ...rates.map(({ limit, perMs, unit }) => (costOf(unit) * perMs) / limit));
  return Math.max(ownMs, nowMs) + active * longestMs;
};

/** Input of `grantShared`: the calls at once of all handlers that share a limit. */
export interface SharedGrant {
  /** Null: no limit. */
  concurrency: number | null;
  slots: readonly { handler: number; slots: number }[];
  active: number;
  blocked: boolean;
}

/**
 * Returns how many more of the shared calls a handler gets, of those that it wants: all that are
 * free, unless another handler waits; then as many as its part, as leaders of one handler do.
 */
export const grantShared = (
  { concurrency, slots, active, blocked }: SharedGrant,
  handler: number,
  wanted: number,
): number =>
  concurrency === null
    ? wanted
    : grantSlots({
        limit: concurrency,
        leader: handler,
        activeLeaders: blocked ? active : 1,
        othersBlocked: blocked,
        granted: slots.map((held) => ({ leader: held.handler, slots: held.slots })),
        wanted,
      });

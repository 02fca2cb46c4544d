import type { z } from 'zod';
import { problemsOf, settings } from '../../handlers/checks';
import { limitShape } from '../../handlers/settings';
import type { Rate } from '../../handlers/types';
import type { HandlerLimitsFacts } from '../../postgres/limits/handlerLimits';
import type { LimitChange, RateLimit } from '../../workflows/planning/limits/limits';
import { SETTABLE } from '../../workflows/planning/limits/limits';
import { checkTime, checkWhole } from '../arguments';
import { InvalidArgumentError, MusterError } from '../errors';

/**
 * Limits to set, by the names of a definition. Null is "as defined", and what is left out stays as
 * it is.
 */
export interface LimitSettings {
  /** All rates of the handler, or of the target; [] for none. */
  rate?: Rate | Rate[] | null;
  /** Most calls at once, 1 to 10,000. */
  concurrency?: { perTarget?: number | null; perHandler?: number | null };
  /** Most weight of batches that have not ended. */
  maxWeightInFlight?: { perTarget?: number | null; perHandler?: number | null };
}

/** When what is set ends by itself; default: when it is removed. */
export interface LastingOptions {
  /** When it ends by itself: a date, ISO time or Unix milliseconds, by the database's clock. */
  until?: Date | string | number;
  /** The same as a duration from now, in ms: 1 to 10 years. */
  forMs?: number;
}

/** Options of `limits.set`: of what, and until when. */
export interface SetLimitsOptions extends LastingOptions {
  /** Only this target; default: the handler. */
  target?: string;
}

const LONGEST_MS = 3_650 * 86_400_000;
const schema = settings(limitShape);

/** Returns the change that was asked for. Throws a `MusterError` with code INVALID_ARGUMENT. */
export const checkLimits = (given: LimitSettings, target: string | undefined): LimitChange => {
  refuseProblems(schema, given);
  const { rate, concurrency = {}, maxWeightInFlight = {} } = given;
  const change = withoutUndefined<LimitChange>({
    rate: rate == null ? rate : ratesOf(rate, target),
    'concurrency.perTarget': concurrency.perTarget,
    'concurrency.perHandler': concurrency.perHandler,
    'maxWeightInFlight.perTarget': maxWeightInFlight.perTarget,
    'maxWeightInFlight.perHandler': maxWeightInFlight.perHandler,
  });
  refuseBeyond(change);
  const names = Object.keys(change);
  if (names.length === 0)
    throw new InvalidArgumentError('limits', 'at least one of rate, concurrency, maxWeightInFlight', given);
  const whole = names.find((name) => name.endsWith('.perHandler'));
  if (target !== undefined && whole !== undefined)
    throw new InvalidArgumentError(
      `limits.${whole}`,
      'nothing beside a target',
      change[whole as keyof LimitChange],
      'Set it for the handler.',
    );
  return change;
};

/** Throws for numbers of which no time could be made. */
const refuseBeyond = (change: LimitChange): void => {
  for (const name of ['maxWeightInFlight.perTarget', 'maxWeightInFlight.perHandler'] as const)
    refuseOutside(name, change[name], SETTABLE.least, SETTABLE.most);
  refuseRatesBeyond(change.rate ?? []);
};

/** Throws for rates of which no time could be made. */
export const refuseRatesBeyond = (rates: readonly { limit: number; perMs: number }[]): void => {
  const { least, most, longestMs } = SETTABLE;
  for (const [i, { limit, perMs }] of rates.entries()) {
    refuseOutside(`rate[${i}].limit`, limit, least, most);
    refuseOutside(`rate[${i}].perMs`, perMs, 1, longestMs);
  }
};

const refuseOutside = (field: string, value: number | null | undefined, min: number, max: number): void => {
  if (value != null && (value < min || value > max))
    throw new InvalidArgumentError(`limits.${field}`, `a number from ${min} to ${max}`, value);
};

/** Throws a `MusterError` with code INVALID_ARGUMENT that names each wrong field. */
export const refuseProblems = (shape: z.ZodType, given: unknown): void => {
  const lines = problemsOf(shape, given).map(
    ({ path, message }) => `${path === '' ? 'limits' : `limits.${path}`}: ${message}`,
  );
  if (lines.length > 0) throw new MusterError('INVALID_ARGUMENT', lines.join('\n'));
};

/** Returns a change without the limits that were not named. */
export const withoutUndefined = <C extends object>(change: { [N in keyof C]: C[N] | undefined }): C =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as C;

const ratesOf = (rate: Rate | Rate[], target: string | undefined): RateLimit[] =>
  (Array.isArray(rate) ? rate : [rate]).map((one, i) => {
    const scope = one.scope ?? (target === undefined ? 'handler' : 'target');
    if (target !== undefined && scope !== 'target')
      throw new InvalidArgumentError(`limits.rate[${i}].scope`, '"target" beside a target', scope);
    return { limit: one.limit, perMs: one.perMs, unit: one.unit, scope };
  });

/** Returns what says when a change ends, by the database's clock. */
export const checkUntil = ({ until, forMs }: LastingOptions): ((nowMs: number) => number | null) => {
  if (until !== undefined && forMs !== undefined)
    throw new InvalidArgumentError('forMs', 'nothing beside until', forMs);
  if (forMs !== undefined) {
    const ms = checkWhole('forMs', forMs, 1, LONGEST_MS);
    return (nowMs) => Math.floor(nowMs) + ms;
  }
  if (until === undefined) return () => null;
  const untilMs = checkTime('until', until).getTime();
  return (nowMs) => {
    if (untilMs <= nowMs || untilMs > nowMs + LONGEST_MS)
      throw new InvalidArgumentError('until', 'a time in the future, within 10 years, by the database', until);
    return untilMs;
  };
};

/** Throws if a full batch could never be sent under the weight that is asked for. */
export const checkWeights = (change: LimitChange, { maxWeight }: Pick<HandlerLimitsFacts, 'maxWeight'>): void => {
  for (const name of ['maxWeightInFlight.perTarget', 'maxWeightInFlight.perHandler'] as const) {
    const value = change[name];
    if (value != null && maxWeight !== null && value < maxWeight)
      throw new InvalidArgumentError(
        `limits.${name}`,
        `at least limits.maxWeight of the handler (${maxWeight})`,
        value,
        'A full batch could never be sent.',
      );
  }
};

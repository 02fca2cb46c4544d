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

/** Options of `limits.set`: of what, and until when. */
export interface SetLimitsOptions {
  /** Only this target; default: the handler. */
  target?: string;
  /** When it ends by itself: a date, ISO time or Unix milliseconds, by the database's clock. */
  until?: Date | string | number;
  /** The same as a duration from now, in ms: 1 to 10 years. */
  forMs?: number;
}

const LONGEST_MS = 3_650 * 86_400_000;
const schema = settings(limitShape);

/** Returns the change that was asked for. Throws a `MusterError` with code INVALID_ARGUMENT. */
export const checkLimits = (given: LimitSettings, target: string | undefined): LimitChange => {
  const lines = problemsOf(schema, given).map(
    ({ path, message }) => `${path === '' ? 'limits' : `limits.${path}`}: ${message}`,
  );
  if (lines.length > 0) throw new MusterError('INVALID_ARGUMENT', lines.join('\n'));
  const { rate, concurrency = {}, maxWeightInFlight = {} } = given;
  const change: LimitChange = withoutUndefined({
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
  const { least, most, longestMs } = SETTABLE;
  const check = (field: string, value: number | null | undefined, min: number, max: number): void => {
    if (value != null && (value < min || value > max))
      throw new InvalidArgumentError(`limits.${field}`, `a number from ${min} to ${max}`, value);
  };
  for (const name of ['maxWeightInFlight.perTarget', 'maxWeightInFlight.perHandler'] as const)
    check(name, change[name], least, most);
  for (const [i, { limit, perMs }] of (change.rate ?? []).entries()) {
    check(`rate[${i}].limit`, limit, least, most);
    check(`rate[${i}].perMs`, perMs, 1, longestMs);
  }
};

const withoutUndefined = (change: { [N in keyof LimitChange]: LimitChange[N] | undefined }): LimitChange =>
  Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));

const ratesOf = (rate: Rate | Rate[], target: string | undefined): RateLimit[] =>
  (Array.isArray(rate) ? rate : [rate]).map((one, i) => {
    const scope = one.scope ?? (target === undefined ? 'handler' : 'target');
    if (target !== undefined && scope !== 'target')
      throw new InvalidArgumentError(`limits.rate[${i}].scope`, '"target" beside a target', scope);
    return { limit: one.limit, perMs: one.perMs, unit: one.unit, scope };
  });

/** Returns what says when a change ends, by the database's clock. */
export const checkUntil = ({ until, forMs }: SetLimitsOptions): ((nowMs: number) => number | null) => {
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

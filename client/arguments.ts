import { hooksProblem } from '../handlers/hooks/check';
import type { Hooks } from '../handlers/hooks/types';
import { InvalidArgumentError, MusterError } from './errors';
import { isoMs } from './isoTime';

/** Checks the arguments of a client's verbs, since types are not checked at run time. */

export const checkName = (field: string, value: unknown): string => {
  if (typeof value !== 'string' || value === '' || value.includes('\0'))
    throw new InvalidArgumentError(field, 'a non-empty string without NUL', value);
  return value;
};

/** The last millisecond of the year 9999. */
const LAST_MS = 253_402_300_799_999;

/** Returns a time that is given as a date, ISO time or Unix milliseconds. */
export const checkTime = (field: string, value: unknown): Date => {
  const isGiven = value instanceof Date || typeof value === 'number';
  const time = isGiven ? new Date(value) : new Date(typeof value === 'string' ? isoMs(value) : NaN);
  const ms = time.getTime();
  if (Number.isNaN(ms) || ms < 0 || ms > LAST_MS)
    throw new InvalidArgumentError(field, 'a date, ISO time or Unix milliseconds from 1970 to 9999', value);
  return time;
};

const ERROR_PART_MAX = 1_000;

/** Checks a text that errors must contain. */
export const checkErrorPart = (field: string, error: unknown): string => {
  if (typeof error !== 'string' || error === '' || error.length > ERROR_PART_MAX || error.includes('\0'))
    throw new InvalidArgumentError(field, `a text of 1 to ${ERROR_PART_MAX} characters (without NUL)`, error);
  return error;
};

const REASON_MAX = 1_000;

/**
 * Checks the reason for an operator's pause or decision, which `status` and `explain` will show.
 */
export const checkReason = (reason: unknown): string => {
  if (typeof reason !== 'string' || reason.length > REASON_MAX || reason.includes('\0'))
    throw new InvalidArgumentError('reason', `a text of at most ${REASON_MAX} characters (without NUL)`, reason);
  return reason;
};

/**
 * Returns ids as a list without repeats, in the given order. Refuses NUL, which no stored id
 * contains and Postgres does not accept.
 */
export const checkIds = (field: string, value: unknown, most = Infinity): string[] => {
  const ids = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(ids)) throw new InvalidArgumentError(field, 'a task id or a list of them', value);
  const wrong = ids.findIndex((id) => typeof id !== 'string' || id === '' || id.includes('\0'));
  if (wrong >= 0) throw new InvalidArgumentError(`${field}[${wrong}]`, 'a non-empty string without NUL', ids[wrong]);
  const distinct = [...new Set(ids as string[])];
  if (distinct.length > most)
    throw new InvalidArgumentError(
      field,
      `at most ${most} ids in one call`,
      distinct.length,
      'Split the ids over several calls.',
    );
  return distinct;
};

export const checkWhole = (field: string, value: unknown, min: number, max: number): number => {
  if (!Number.isSafeInteger(value) || (value as number) < min || (value as number) > max)
    throw new InvalidArgumentError(field, `a whole number from ${min} to ${max}`, value);
  return value as number;
};

export const checkHooks = (hooks: Hooks | undefined): Hooks | undefined => {
  const problem = hooks === undefined ? null : hooksProblem(hooks);
  if (problem === null) return hooks;
  const field = problem.path === '' ? 'hooks' : `hooks.${problem.path}`;
  throw new MusterError('INVALID_ARGUMENT', `${field}: ${problem.message}`);
};

export const checkOneOf = <T extends string>(field: string, value: unknown, names: readonly T[]): T => {
  if (!(names as readonly unknown[]).includes(value))
    throw new InvalidArgumentError(field, `one of ${names.map((name) => `"${name}"`).join(', ')}`, value);
  return value as T;
};

import { show } from '../../handlers/text';
import type { ErrorCode } from '../../workflows/planning/errorCodes';
import { isoMs } from '../isoTime';

/** Reports a problem of a task. */
export type Reject = (field: string, code: ErrorCode, message: string) => undefined;

/** Formats a refused value for an error message, cut to 80 characters. */
export const describe = (value: unknown): string => {
  const text =
    typeof value === 'string'
      ? JSON.stringify(value)
      : value === undefined
        ? 'nothing'
        : typeof value === 'object'
          ? show(value)
          : String(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
};

/** Returns a time of a task as Unix milliseconds; null: there is none, or it was refused. */
export const checkTaskTime = (field: string, value: unknown, reject: Reject): number | null => {
  if (value === undefined || value === null) return null;
  const ms =
    value instanceof Date
      ? value.getTime()
      : typeof value === 'number'
        ? value
        : typeof value === 'string'
          ? isoMs(value)
          : NaN;
  if (Number.isFinite(ms) && ms >= 0 && ms < 253_402_300_800_000) return ms;
  reject(
    field,
    'INVALID_TIME',
    `expected an ISO time such as 2030-01-31T12:00:00Z, a Date, or Unix milliseconds, got ${describe(value)}`,
  );
  return null;
};

/** Returns the priority of a task, 0 if none is given. */
export const checkPriority = (priority: number | undefined, reject: Reject): number => {
  const given = priority ?? 0;
  if (!Number.isInteger(given) || given < -32_768 || given > 32_767)
    reject(
      'priority',
      'INVALID_PRIORITY',
      `expected a whole number of -32768..32767 (lower goes first), got ${describe(priority)}`,
    );
  return given;
};

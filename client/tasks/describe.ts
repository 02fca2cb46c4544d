import { show } from '../../handlers/text';
import type { ErrorCode } from '../../workflows/planning/errorCodes';

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

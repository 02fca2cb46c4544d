import type { CallLog } from '../contract';

/** A logger that writes nothing: of calls that no worker makes, unless a caller gives another. */
export const SILENT_LOG: CallLog = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/**
 * Returns a logger that adds fields to each line of another one. Lines cannot replace them, so that
 * a reader of the log can rely on what call each is of.
 */
export const boundLog = (log: CallLog, fields: object): CallLog => {
  const line =
    (level: keyof CallLog): CallLog['info'] =>
    (first: unknown, message?: string) => {
      if (typeof first === 'string') log[level](fields, first);
      else log[level]({ ...(first instanceof Error ? { err: first } : (first as object)), ...fields }, message);
    };
  return { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
};

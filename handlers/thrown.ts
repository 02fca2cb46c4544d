import type { CallOutcome } from '../workflows/planning/calls/plans';
import { cutText, describeThrown } from './text';
import type { HoldScope } from './contract';

/**
 * Longest wait that a downstream can ask for, in milliseconds: a longer one is shortened to this.
 */
const RETRY_AFTER_MAX_MS = 86_400_000;

/**
 * Returns a wait in whole milliseconds, at most a day. Undefined: it is unreadable, and the backoff
 * decides.
 */
export const readableWait = (ms: unknown): number | undefined =>
  typeof ms === 'number' && ms >= 0 ? Math.min(Math.ceil(ms), RETRY_AFTER_MAX_MS) : undefined;

export const readableScope = (scope: unknown): HoldScope => (scope === 'handler' ? 'handler' : 'target');

interface Readable {
  name?: unknown;
  message?: unknown;
  options?: { retryAfterMs?: unknown; scope?: unknown };
}

/**
 * Returns the outcome that an error of `errors.ts` declares. Undefined: it is another error. Errors
 * are recognised by name, because a bundle may contain a second copy of the classes.
 */
function declaredOutcome(thrown: unknown): CallOutcome | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const { name, message, options } = thrown as Readable;
  const error = typeof message === 'string' && message !== '' ? cutText(message) : `${String(name)} without a reason`;
  switch (name) {
    case 'RejectedError':
      return { kind: 'rejected', error };
    case 'LaterError':
      return {
        kind: 'later',
        retryAfterMs: readableWait(options?.retryAfterMs),
        scope: readableScope(options?.scope),
        error,
      };
    case 'HaltError':
      return options?.scope === 'target' ? { kind: 'halted', error, scope: 'target' } : { kind: 'halted', error };
    default:
      return undefined;
  }
}

/**
 * Says whether a thrown value is one of the errors of `errors.ts`, by which a handler declares an
 * outcome.
 */
export const isDeclared = (thrown: unknown): boolean => {
  try {
    return declaredOutcome(thrown) !== undefined;
  } catch {
    return false;
  }
};

/**
 * Interprets what `submit` has thrown: one of the declared errors, or else an unknown outcome of
 * the whole batch. Never throws.
 */
export function thrownOutcome(thrown: unknown): CallOutcome {
  try {
    const declared = declaredOutcome(thrown);
    if (declared !== undefined) return declared;
  } catch {
    // A getter throws: such an error is as unreadable as any other.
  }
  return { kind: 'unknown', error: describeThrown(thrown) };
}

/**
 * Codes of DNS errors, and of connection errors after which no byte of a request can have been
 * written.
 */
const NEVER_SENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/**
 * Says whether an error of `fetch`, undici or `node:http` means that no connection was made. For
 * handlers whose `submit` makes a single request: `catch (e) { throw neverSent(e) ? new
 * LaterError(e.message) : e; }`. If it makes several requests, use this for the first one only.
 */
export function neverSent(thrown: unknown, depth = 0): boolean {
  if (typeof thrown !== 'object' || thrown === null || depth > 3) return false;
  const { code, cause, errors } = thrown as { code?: unknown; cause?: unknown; errors?: unknown };
  if (Array.isArray(errors) && errors.length > 0) return errors.every((error) => neverSent(error, depth + 1));
  if (typeof code === 'string' && NEVER_SENT.has(code)) return true;
  if (code === 'ETIMEDOUT') return (thrown as { syscall?: unknown }).syscall === 'connect';
  return cause !== undefined && neverSent(cause, depth + 1);
}

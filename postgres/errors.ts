import type { ErrorCode } from '../workflows/planning/errorCodes';
import type { Meaning } from './sqlState';
import {
  AGAIN,
  CHECK,
  codeOf,
  INVALID_SCHEMA,
  LOST,
  LOST_CONNECTION,
  MEANINGS,
  messageOf,
  NO_CONNECTION,
  POOLER,
  REFUSED,
  SILENT,
  SQLSTATE,
  UNANSWERED,
  UNDEFINED_COLUMN,
  UNDEFINED_TABLE,
  UNIQUE_VIOLATION,
} from './sqlState';

/** Of a driver's error, or of one of ours that has it as its cause. */
const sqlStateOf = (error: unknown): string | undefined => {
  const code = codeOf(error instanceof DatabaseError ? error.cause : error);
  return code !== undefined && (SQLSTATE.test(code) || code in MEANINGS) ? code : undefined;
};

/**
 * A statement had no answer for so long that its session was given up: the server hangs, or the way
 * to it does.
 */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  constructor(ms: number) {
    super(`no answer within ${ms} ms`);
  }
}

const meaningOf = (error: unknown): Meaning | undefined => {
  const cause = error instanceof DatabaseError ? error.cause : error;
  if (cause instanceof NoAnswerError) return SILENT;
  if (/unsupported startup parameter/.test(messageOf(cause))) return POOLER;
  const known = MEANINGS[sqlStateOf(cause) ?? ''];
  if (known !== undefined) return known;
  const message = messageOf(cause);
  return NO_CONNECTION.test(message) ? UNANSWERED : LOST_CONNECTION.test(message) ? LOST : undefined;
};

/** What is known of the transaction that failed: it is not there, or nobody knows. */
export type Outcome = 'none' | 'unknown';

/**
 * An error of Postgres that is nothing the statement's author foresaw; the driver's own is its
 * `cause`.
 */
export class DatabaseError extends Error {
  override readonly name: string = 'DatabaseError';
  readonly code: ErrorCode = 'DATABASE_ERROR';
  private readonly said: string;
  constructor(
    cause: unknown,
    public outcome: Outcome = 'none',
    message = `Postgres refused a statement: ${messageOf(cause)} (${sqlStateOf(cause) ?? 'no SQLSTATE'}).`,
  ) {
    super(message, { cause });
    this.said = message;
  }

  /** Adds what its outcome means for the caller; the outermost call knows all of it. */
  tell(meaning: string): void {
    this.message = `${this.said} ${meaning}`;
  }
}

/** The database cannot be reached, or cannot be written. */
class DatabaseUnavailableError extends DatabaseError {
  override readonly name = 'DatabaseUnavailableError';
  override readonly code = 'DATABASE_UNAVAILABLE';
  constructor(cause: unknown, outcome: Outcome = 'none') {
    const { kind, remedy = CHECK } = meaningOf(cause) ?? REFUSED;
    const what =
      kind === 'unwritable'
        ? 'cannot be written'
        : meaningOf(cause) === SILENT
          ? 'does not answer'
          : 'cannot be reached';
    super(cause, outcome, `Postgres ${what}: ${messageOf(cause) || codeOf(cause)}. ${remedy}`);
  }
}

/** Other transactions were in the way, or the statement took too long: nothing was done. */
class DatabaseBusyError extends DatabaseError {
  override readonly name = 'DatabaseBusyError';
  override readonly code = 'DATABASE_BUSY';
  constructor(cause: unknown) {
    super(cause, 'none', `Postgres is busy: ${messageOf(cause)}. ${AGAIN}`);
  }
}

/**
 * A driver's error as one of ours. `committing`: it came where a commit was on its way, so that a
 * lost session leaves its outcome open. What a statement itself refuses (a constraint, a function's
 * own code) stays what it is: whoever wrote the statement reads it.
 */
export const typedError = (error: unknown, committing: boolean): unknown => {
  if (error instanceof DatabaseError) return error;
  const kind = meaningOf(error)?.kind;
  if (kind === 'busy') return new DatabaseBusyError(error);
  if (kind !== undefined)
    return new DatabaseUnavailableError(error, kind === 'lost' && committing ? 'unknown' : 'none');
  return isDriverError(error) && !isOwnRefusal(error) ? new DatabaseError(error) : error;
};

/**
 * Also of what a statement itself refuses: for the border of the client library, which no driver's
 * error crosses.
 */
export const asDatabaseError = (error: unknown): DatabaseError | null => {
  const typed = typedError(error, true);
  if (typed instanceof DatabaseError) return typed;
  return isDriverError(error) ? new DatabaseError(error) : null;
};

const isDriverError = (error: unknown): boolean => {
  const { severity } = (error ?? {}) as { severity?: unknown };
  return error instanceof Error && typeof severity === 'string' && SQLSTATE.test(codeOf(error) ?? '');
};
/**
 * Values that a type or a constraint does not take, `raise exception`, and codes of our own
 * functions.
 */
const isOwnRefusal = (error: unknown): boolean => /^(22|23|P0|MU)/.test(codeOf(error) ?? '');

/**
 * Whether the session may be used again after its transaction was rolled back: only where the error
 * is the statement's own, or nothing but a conflict of two transactions. Any other may be the
 * session's (it was opened while the server was read-only, say) and would come back with it.
 */
export const keepsSession = (error: unknown): boolean =>
  meaningOf(error) === undefined ? !isDriverError(error) || isOwnRefusal(error) : /^40/.test(sqlStateOf(error) ?? '');

/**
 * Other sessions of the same pool are as this one: opened while the server was read-only, or cut
 * off without knowing it.
 */
export const concernsAllSessions = (error: unknown): boolean =>
  meaningOf(error) === SILENT || sqlStateOf(error) === '25006';

/** The session is gone or was never had; the same statement may work on another. */
export const isConnectionError = (error: unknown): boolean =>
  ['lost', 'refused'].includes(meaningOf(error)?.kind ?? '');

/** Nothing came at all: no session, no refusal, no answer. */
export const isSilence = (error: unknown): boolean =>
  ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'].includes(codeOf(error) ?? '') ||
  NO_CONNECTION.test(messageOf(error)) ||
  /^Query read timeout/.test(messageOf(error));

/**
 * The same transaction may be tried again. After a lost connection a commit may have happened:
 * callers are idempotent.
 */
export const isRetryable = (error: unknown): boolean => {
  const meaning = meaningOf(error);
  return meaning !== undefined && meaning.lasting !== true;
};

/**
 * The server refuses a value (class 22) or its size or depth (class 54), and will refuse the same
 * again.
 */
export const isRefusedValue = (error: unknown): boolean => /^(?:22|54)/.test(codeOf(error) ?? '');

/**
 * Somebody's lock was in the way for longer than the statement was to wait, or each waited for the
 * other's.
 */
export const isLockTimeout = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '');

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === UNIQUE_VIOLATION;
export const isMissingSchema = (error: unknown): boolean =>
  [UNDEFINED_TABLE, INVALID_SCHEMA].includes(sqlStateOf(error) ?? '');

/** Of a statement over tables of ours: somebody changed them by hand. */
export const isDifferentSchema = (error: unknown): boolean =>
  [UNDEFINED_TABLE, UNDEFINED_COLUMN].includes(sqlStateOf(error) ?? '');

/** A migration holds a lock of its session, which a pooler would lend to others meanwhile. */
export class NeedsSessionError extends Error {
  override readonly name = 'NeedsSessionError';
  readonly code: ErrorCode = 'INVALID_DATABASE_URL';
  constructor() {
    super(
      'databaseUrl: Cannot migrate through a pooler (pgbouncer=true): a migration needs a session of its own. Give the URL of the server itself.',
    );
  }
}

/** The tables are not there, or are older than this program. */
export class SchemaMissingError extends Error {
  override readonly name = 'SchemaMissingError';
  readonly code: ErrorCode = 'SCHEMA_MISSING';
  constructor(detail: string) {
    super(`The database has no Muster tables of this version (${detail}). Run: npx muster migrate`);
  }
}

/**
 * A newer program changed the tables in a way that this one is too old for: it must not write to
 * them.
 */
export class SchemaNewerError extends Error {
  override readonly name = 'SchemaNewerError';
  readonly code: ErrorCode = 'SCHEMA_NEWER';
  constructor(newest: string, known: string) {
    super(
      `The database schema is newer than this program: it has ${newest}, which programs that know up to ${known} cannot run on. Use a newer Muster.`,
    );
  }
}

/**
 * The tables say that they are of this version, and lack something of it: somebody changed them.
 */
export class SchemaDiffersError extends Error {
  override readonly name = 'SchemaDiffersError';
  readonly code: ErrorCode = 'SCHEMA_DIFFERS';
  constructor(cause: unknown) {
    super(
      `The database schema differs from this program's: ${messageOf(cause)}. Restore the tables as in postgres/schema.sql, or use another schema (--schema).`,
      { cause },
    );
  }
}

/**
 * Tries `work` again on a retryable error, `times` in all, with a short growing wait: for
 * transactions that are idempotent. If the outcome of one try is unknown, so is that of all.
 */
export const withRetries = async <T>(work: () => Promise<T>, times = 5, waitMs = 20): Promise<T> => {
  let isUnknown = false;
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof DatabaseError) {
        isUnknown ||= error.outcome === 'unknown';
        if (isUnknown) error.outcome = 'unknown';
      }
      if (attempt >= times || !isRetryable(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs * 2 ** attempt * (0.5 + Math.random())));
    }
  }
};

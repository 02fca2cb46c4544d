import type { ErrorCode } from '../workflows/planning/errorCodes';
import type { Meaning } from './sqlState';
import {
  AGAIN,
  CHECK,
  codeOf,
  FOREIGN_KEY_VIOLATION,
  INVALID_SCHEMA,
  LOST,
  LOST_CONNECTION,
  MEANINGS,
  messageOf,
  NO_CONNECTION,
  NO_TRANSACTION,
  POOLER,
  REFUSED,
  SILENT,
  SQLSTATE,
  STALE_TARGETS,
  UNANSWERED,
  UNDEFINED_COLUMN,
  UNDEFINED_TABLE,
  UNIQUE_VIOLATION,
} from './sqlState';

/** Returns the SQLSTATE of a driver's error, or of one of ours that has it as its cause. */
const sqlStateOf = (error: unknown): string | undefined => {
  const code = codeOf(error instanceof DatabaseError ? error.cause : error);
  return code !== undefined && (SQLSTATE.test(code) || code in MEANINGS) ? code : undefined;
};

/**
 * A statement went without an answer for so long that its session was given up: the server hangs,
 * or the path to it does.
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

/** What is known of the failed transaction: it did not happen, or its outcome is unknown. */
export type Outcome = 'none' | 'unknown';

/**
 * An error of Postgres that the statement's author did not foresee; the driver's error is its
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

  /** Adds what the outcome means for the caller; the outermost call knows all of it. */
  addMeaning(meaning: string): void {
    this.message = `${this.said} ${meaning}`;
  }
}

/** The database is unreachable or read-only. */
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

/** A pooler took the settings of a session's start and dropped them. */
export class DroppedSettingsError extends DatabaseError {
  override readonly name = 'DroppedSettingsError';
  override readonly code = 'DATABASE_UNAVAILABLE';
  constructor(cause: unknown) {
    super(cause, 'none', `Postgres did not take the settings of our sessions (options). ${POOLER.remedy}`);
  }
}

/** Says whether a pooler in between refused our sessions, or dropped their settings. */
export const isPoolerFault = (error: unknown): boolean =>
  error instanceof DroppedSettingsError || meaningOf(error) === POOLER;

/** Other transactions were in the way, or the statement took too long: nothing was done. */
class DatabaseBusyError extends DatabaseError {
  override readonly name = 'DatabaseBusyError';
  override readonly code = 'DATABASE_BUSY';
  constructor(cause: unknown) {
    super(cause, 'none', `Postgres is busy: ${messageOf(cause)}. ${AGAIN}`);
  }
}

/**
 * Turns a driver's error into one of ours. `committing`: a commit was being sent, so that a lost
 * session leaves its outcome open. What the statement itself refuses (a constraint, a function's
 * raised code) stays as it is: the code around the statement interprets it.
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
 * Turns any driver's error, also what a statement itself refuses, into one of ours: at the border
 * of the client library, which no driver's error crosses.
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
 * Says whether the error is a value that a type or constraint rejects, a `raise exception`, or a
 * code raised by our functions.
 */
const isOwnRefusal = (error: unknown): boolean => /^(22|23|P0|MU)/.test(codeOf(error) ?? '');

/**
 * Says whether the session may be used again after a rollback: only where the error is the
 * statement's, or a mere conflict of two transactions. Any other error may be the session's (it was
 * opened while the server was read-only, say) and would come back with it.
 */
export const keepsSession = (error: unknown): boolean =>
  meaningOf(error) === undefined ? !isDriverError(error) || isOwnRefusal(error) : /^40/.test(sqlStateOf(error) ?? '');

/**
 * Says whether other sessions of the same pool share the fault: opened while the server was
 * read-only, or cut off without noticing.
 */
export const concernsAllSessions = (error: unknown): boolean =>
  meaningOf(error) === SILENT || sqlStateOf(error) === '25006';

/** Says whether the session is gone or never existed; the same statement may work on another. */
export const isConnectionError = (error: unknown): boolean =>
  ['lost', 'refused'].includes(meaningOf(error)?.kind ?? '');

/** Says whether the server stayed silent: no session, no refusal, no answer. */
export const isSilence = (error: unknown): boolean =>
  ['ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH'].includes(codeOf(error) ?? '') ||
  NO_CONNECTION.test(messageOf(error)) ||
  /^Query read timeout/.test(messageOf(error));

/**
 * Says whether the same transaction may be tried again. After a lost connection a commit may have
 * happened: callers are idempotent.
 */
export const isRetryable = (error: unknown): boolean => {
  const meaning = meaningOf(error);
  return meaning !== undefined && meaning.lasting !== true;
};

/** Says whether the server cannot be reached or written, however long: no statement's fault. */
export const isUnavailable = (error: unknown): boolean => {
  const kind = meaningOf(error)?.kind;
  return kind !== undefined && kind !== 'busy';
};

/** Says whether the server refuses a value (class 22) or its size or depth (class 54), as ever. */
export const isRefusedValue = (error: unknown): boolean => /^(?:22|54)/.test(codeOf(error) ?? '');

/**
 * Says whether another transaction's lock was in the way for longer than the statement may wait, or
 * two waited for each other.
 */
export const isLockTimeout = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '');

/** Says whether a statement that needs a transaction was sent outside of one. */
export const isOutsideTransaction = (error: unknown): boolean => sqlStateOf(error) === NO_TRANSACTION;

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === UNIQUE_VIOLATION;

/** A target, or its lane, was deleted as unused between its look-up and its use. */
export class TargetGoneError extends Error {
  override readonly name = 'TargetGoneError';
  constructor() {
    super('Cannot use a target: it was deleted, since nothing had used it for long. Look it up again.');
  }
}

const TO_TARGETS =
  /^(batch_target_id|lane_batch_lane_id|lane_batch_target_id_lane_id|lane_state_lane_id|target_lane_id)_fkey$/;
/**
 * Says whether nothing was stored because the ids of targets were looked up too long ago
 * (`check_targets`), or because a target, or its lane, had been deleted.
 */
export const isTargetGone = (error: unknown): boolean =>
  error instanceof TargetGoneError ||
  codeOf(error) === STALE_TARGETS ||
  (codeOf(error) === FOREIGN_KEY_VIOLATION && TO_TARGETS.test(String((error as { constraint?: unknown }).constraint)));

export const isMissingSchema = (error: unknown): boolean =>
  [UNDEFINED_TABLE, INVALID_SCHEMA].includes(sqlStateOf(error) ?? '');

/** Says whether a statement over Muster's tables failed because the tables were changed by hand. */
export const isDifferentSchema = (error: unknown): boolean =>
  [UNDEFINED_TABLE, UNDEFINED_COLUMN].includes(sqlStateOf(error) ?? '');

/** A migration holds a lock of its session, which a pooler would meanwhile lend to others. */
export class NeedsSessionError extends Error {
  override readonly name = 'NeedsSessionError';
  readonly code: ErrorCode = 'INVALID_DATABASE_URL';
  constructor() {
    super(
      'databaseUrl: Cannot migrate through a pooler (pgbouncer=true): a migration needs a dedicated session. Give the URL of the server itself.',
    );
  }
}

/** Says whether an error concerns all statements: not a value of one, nor a lock or time limit. */
export const concernsStore = (error: unknown): boolean =>
  error instanceof DatabaseError && meaningOf(error)?.kind !== 'busy' && !isRefusedValue(error.cause);

/** The tables are missing, or older than this program. */
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

/** The tables claim this version but lack part of it: they were changed by hand. */
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
 * Runs `work` again on a retryable error, `times` in all, with a short growing wait: for idempotent
 * transactions. If the outcome of one try is unknown, so is that of all.
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

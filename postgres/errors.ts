/** What a database error means to us: one table, keyed by SQLSTATE (or the socket's code before there is a session). */
const RETRYABLE: Readonly<Record<string, string>> = {
  '40001': 'serialization failure',
  '40P01': 'deadlock',
  '55P03': 'lock not available',
  '57014': 'statement timeout',
  '57P01': 'server shut down this session',
  '57P02': 'server crashed',
  '57P03': 'server is starting up',
  '53300': 'too many connections',
  '08000': 'connection exception',
  '08003': 'connection does not exist',
  '08006': 'connection failure',
  '25P03': 'idle in transaction timeout',
};
const CONNECTION: ReadonlySet<string> = new Set([
  '57P01', '57P02', '57P03', '53300', '08000', '08003', '08006', '28000', '28P01', '3D000',
  'ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND', 'EAI_AGAIN', 'ETIMEDOUT', 'EPIPE', 'ENOENT',
]); // prettier-ignore

export const UNIQUE_VIOLATION = '23505';
const UNDEFINED_TABLE = '42P01';
const INVALID_SCHEMA = '3F000';
const UNDEFINED_COLUMN = '42703';

export const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string') return code;
  const first = (error as { errors?: unknown[] } | null)?.errors?.[0]; // AggregateError of a host with several addresses
  return first === undefined ? undefined : codeOf(first);
};

const LOST_CONNECTION =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/;
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The session is gone or was never had; the same statement may work on another. */
export const isConnectionError = (error: unknown): boolean =>
  CONNECTION.has(codeOf(error) ?? '') || LOST_CONNECTION.test(messageOf(error));

/** Nothing was committed and the same transaction may be tried again. After a lost connection a commit may have happened: callers are idempotent. */
export const isRetryable = (error: unknown): boolean => codeOf(error)! in RETRYABLE || isConnectionError(error);

/** The server refuses a value (class 22) or its size or depth (class 54), and will refuse the same again. */
export const isRefusedValue = (error: unknown): boolean => /^(?:22|54)/.test(codeOf(error) ?? '');

/** Somebody's lock was in the way for longer than the statement was to wait, or each waited for the other's. */
export const isLockTimeout = (error: unknown): boolean => ['55P03', '40P01'].includes(codeOf(error) ?? '');

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === UNIQUE_VIOLATION;
export const isMissingSchema = (error: unknown): boolean =>
  codeOf(error) === UNDEFINED_TABLE || codeOf(error) === INVALID_SCHEMA;

/** Of a statement over tables of ours: somebody changed them by hand. */
export const isDifferentSchema = (error: unknown): boolean =>
  [UNDEFINED_TABLE, UNDEFINED_COLUMN].includes(codeOf(error) ?? '');

/** The database cannot be reached. */
export class DatabaseUnavailableError extends Error {
  override readonly name = 'DatabaseUnavailableError';
  readonly code = 'DATABASE_UNAVAILABLE';
  constructor(cause: unknown) {
    super(
      `Postgres cannot be reached: ${messageOf(cause) || codeOf(cause)}. Check MUSTER_DATABASE_URL and that the server is up.`,
      { cause },
    );
  }
}

/** The tables are not there, or are older than this program. */
export class SchemaMissingError extends Error {
  override readonly name = 'SchemaMissingError';
  readonly code = 'SCHEMA_MISSING';
  constructor(detail: string) {
    super(`The database has no Muster tables of this version (${detail}). Run: npx muster migrate`);
  }
}

/** A newer program changed the tables in a way that this one is too old for: it must not write to them. */
export class SchemaNewerError extends Error {
  override readonly name = 'SchemaNewerError';
  readonly code = 'SCHEMA_NEWER';
  constructor(newest: string, known: string) {
    super(
      `The database schema is newer than this program: it has ${newest}, which programs that know up to ${known} cannot run on. Use a newer Muster.`,
    );
  }
}

/** The tables say that they are of this version, and lack something of it: somebody changed them. */
export class SchemaDiffersError extends Error {
  override readonly name = 'SchemaDiffersError';
  readonly code = 'SCHEMA_DIFFERS';
  constructor(cause: unknown) {
    super(
      `The database schema differs from this program's: ${messageOf(cause)}. Restore the tables as in postgres/schema.sql, or use another schema (--schema).`,
      { cause },
    );
  }
}

/** Tries `work` again on a retryable error, `times` in all, with a short growing wait: for transactions that are idempotent. */
export const withRetries = async <T>(work: () => Promise<T>, times = 5, waitMs = 20): Promise<T> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt >= times || !isRetryable(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, waitMs * 2 ** attempt * (0.5 + Math.random())));
    }
  }
};

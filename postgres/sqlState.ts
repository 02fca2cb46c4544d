/**
 * What an error of Postgres, or of the connection to it, means to us. One table, keyed by SQLSTATE,
 * or by the socket's error code before there is a session.
 *
 * - `lost`: the session is gone, with or without what it had in progress: a commit that was being
 *   sent may have happened.
 * - `refused`: there is no session, so nothing was done.
 * - `unwritable`: the session is there and takes no writes; nothing was done.
 * - `busy`: the server rolled the transaction back; the same one may be tried again.
 */
type Kind = 'lost' | 'refused' | 'unwritable' | 'busy';

export interface Meaning {
  kind: Kind;
  /** What to do, where `CHECK` does not fit. */
  remedy?: string;
  /** Trying again within seconds does not help. */
  lasting?: true;
}

export const CHECK = 'Check MUSTER_DATABASE_URL and that the server is up.';
const FREE_SPACE = 'Free disk space of the server.';
const FEWER = "Raise the server's max_connections, or lower maxConnections of workers and clients.";
const PRIMARY = 'The server is a standby or set to read-only: point MUSTER_DATABASE_URL at the primary.';
export const AGAIN = 'Try again.';

export const LOST: Meaning = { kind: 'lost' };
export const REFUSED: Meaning = { kind: 'refused' };
const WRONG: Meaning = { kind: 'refused', lasting: true };
const BUSY: Meaning = { kind: 'busy', remedy: AGAIN };

export const MEANINGS: Readonly<Record<string, Meaning>> = {
  '57P01': LOST, // an administrator ended this session, or the server shuts down
  '57P02': LOST, // another session crashed
  '57P05': LOST, // idle session timeout
  '25P03': LOST, // idle in transaction timeout
  '25P04': LOST, // transaction timeout
  '08000': LOST,
  '08003': LOST,
  '08006': LOST,
  '08007': LOST, // transaction resolution unknown
  '08P01': LOST, // protocol violation; a pooler's "server closed the connection"
  ECONNRESET: LOST,
  ETIMEDOUT: LOST,
  EPIPE: LOST,
  EHOSTUNREACH: LOST,
  ENETUNREACH: LOST,
  '57P03': REFUSED, // starting up, shutting down, or in recovery
  '53300': { kind: 'refused', remedy: FEWER },
  '08001': REFUSED,
  '08004': REFUSED,
  ECONNREFUSED: REFUSED,
  EAI_AGAIN: REFUSED,
  ENOTFOUND: REFUSED,
  ENOENT: REFUSED,
  '28000': WRONG,
  '28P01': WRONG,
  '3D000': WRONG,
  '25006': { kind: 'unwritable', remedy: PRIMARY },
  '53100': { kind: 'unwritable', remedy: FREE_SPACE, lasting: true },
  '53000': { kind: 'unwritable', remedy: CHECK, lasting: true },
  '53200': { kind: 'unwritable', remedy: "Look for the reason in the server's log.", lasting: true }, // out of memory
  '58030': { kind: 'unwritable', remedy: "Look for the reason in the server's log.", lasting: true }, // input/output error
  '40001': BUSY, // serialization failure
  '40P01': BUSY, // deadlock
  '55P03': BUSY, // lock timeout
  '57014': BUSY, // statement timeout
};

/** Messages of the driver for errors to which it gives no code. */
export const NO_CONNECTION =
  /timeout exceeded when trying to connect|Connection terminated due to connection timeout|timeout expired/;
export const LOST_CONNECTION = /Connection terminated|Client has encountered a connection error|Client was closed/;
export const SILENT: Meaning = { kind: 'lost', remedy: 'Its connection was given up.', lasting: true };
export const POOLER: Meaning = {
  kind: 'refused',
  lasting: true,
  remedy: 'A pooler stands before the server: add ?pgbouncer=true to the database URL.',
};
export const UNANSWERED: Meaning = { kind: 'refused', lasting: true };

export const UNIQUE_VIOLATION = '23505';
export const FOREIGN_KEY_VIOLATION = '23503';
/** Raised by `check_targets`. */
export const STALE_TARGETS = 'MU002';
export const NO_TRANSACTION = '25P01';
export const UNDEFINED_TABLE = '42P01';
export const INVALID_SCHEMA = '3F000';
export const UNDEFINED_COLUMN = '42703';

export const codeOf = (error: unknown): string | undefined => {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code === 'string') return code;
  const first = (error as { errors?: unknown[] } | null)?.errors?.[0]; // AggregateError of a host with several addresses
  return first === undefined ? undefined : codeOf(first);
};
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
export const SQLSTATE = /^[0-9A-Z]{5}$/;

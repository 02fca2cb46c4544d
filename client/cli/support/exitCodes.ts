import type { ErrorCode } from '../../../workflows/planning/errorCodes';

/** The exit codes of all commands, which `muster --help` lists. */
export const EXIT = {
  ok: 0,
  /**
   * The command was done, but the result is not good: a task failed, an invariant is violated, or
   * the named object does not exist.
   */
  failed: 1,
  /** Bad usage, settings, config file or input: nothing was done. */
  usage: 2,
  /**
   * Postgres, Temporal, the payload codec or a hook cannot be used or fails, or the tables are
   * missing or newer than this program.
   */
  unavailable: 3,
  timeout: 4,
  /**
   * Refused for now (`maxQueued`, a tenant's quota, or a completion before the acceptance of its
   * batch): nothing was done. Try again later.
   */
  backlogged: 5,
} as const;

export const EXIT_HELP = `Exit codes:
  0  done
  1  done, but the result is not good: a task failed or is unknown, an invariant is violated, or what was named does not exist
  2  bad usage, settings, config file or input; nothing was done
  3  Postgres, Temporal, the payload codec or a hook fails, or the tables are missing or newer than this program
  4  not done within --timeout; accepted work continues
  5  refused for now: the backlog (maxQueued) or a tenant's quota is full, or a completion came before its acceptance was written; try again later
  130, 143  stopped by Ctrl-C, by SIGTERM`;

const BY_CODE: Readonly<Partial<Record<ErrorCode, number>>> = {
  NOT_FOUND: EXIT.failed,
  NOT_UNKNOWN: EXIT.failed,
  NOT_CANCELLABLE: EXIT.failed,
  API_REFUSED: EXIT.unavailable,
  API_UNAVAILABLE: EXIT.unavailable,
  DATABASE_UNAVAILABLE: EXIT.unavailable,
  DATABASE_BUSY: EXIT.unavailable,
  TEMPORAL_UNAVAILABLE: EXIT.unavailable,
  TEMPORAL_REFUSED: EXIT.unavailable,
  SCHEMA_MISSING: EXIT.unavailable,
  SCHEMA_NEWER: EXIT.unavailable,
  SCHEMA_DIFFERS: EXIT.unavailable,
  CODEC_FAILED: EXIT.unavailable,
  HOOK_FAILED: EXIT.unavailable,
  DEV_SERVER: EXIT.unavailable,
  TIMEOUT: EXIT.timeout,
  BACKLOGGED: EXIT.backlogged,
  QUOTA: EXIT.backlogged,
  COMPLETION_TOO_EARLY: EXIT.backlogged,
};
/**
 * The codes of refused input. LANE_BUSY and TARGET_BUSY are not among them: the input is accepted
 * later.
 */
const USAGE =
  /^(INVALID_|UNKNOWN_|MALFORMED_|TASK_TOO_|TOO_MANY_|(ID|KEY)_CONFLICT$|(BATCH|BODY|PAYLOAD)_TOO_LARGE$|commander\.)/;
const USAGE_TOO: readonly string[] = [
  'ANSWER_TOO_LARGE',
  'ASYNC_SCHEMA',
  'INDEX_PAST_END',
  'NOT_ALLOWED',
  'LINE_TOO_LONG',
  'LOSSY_NUMBER',
  'PACKAGE_MISSING',
  'TASK_REFUSED',
] satisfies ErrorCode[];

/** Returns the stable `code` of an error. Errors are distinguished by code, never by class. */
export const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : 'INTERNAL';
};

export const exitCodeOf = (error: unknown): number => {
  const code = codeOf(error);
  return BY_CODE[code as ErrorCode] ?? (USAGE.test(code) || USAGE_TOO.includes(code) ? EXIT.usage : EXIT.failed);
};

import type { ErrorCode } from '../../workflows/planning/errorCodes';
import type { TaskProblem } from '../../client/errors';
import {
  BackloggedError,
  CompletionStaleError,
  CompletionTooEarlyError,
  InvalidCompletionError,
  InvalidTaskError,
  NotCancellableError,
  OtherBatchHaltsError,
} from '../../client/errors';
import { InvalidItemError } from '../../client/fanouts/errors';
import { isConnectionError, isRetryable } from '../../postgres/errors';
import { codeOf } from '../../postgres/sqlState';
import type { ProblemExtras, ProblemName } from './problem';
import { ApiProblem, AGAIN_S } from './problem';
import { MOST_NAMED, omitted } from './validate';

/**
 * The problem over HTTP of an error of the client library, by its stable code; codes of a task or
 * an item are in the `errors` of that problem. Null: the code does not come from a request, so the
 * error is a defect.
 */
const BY_CODE: Readonly<Record<ErrorCode, ProblemName | null>> = {
  ANSWER_TOO_LARGE: 'too-large',
  ASYNC_SCHEMA: 'refused',
  BATCH_TOO_LARGE: 'too-large',
  BODY_TOO_LARGE: 'too-large',
  HOOK_FAILED: 'unavailable',
  ID_CONFLICT: 'id-conflict',
  INDEX_PAST_END: 'refused',
  INVALID_ARGUMENT: 'refused',
  INVALID_CALLBACK: 'refused',
  INVALID_COMPLETION: 'refused',
  INVALID_CONFIG: null,
  INVALID_DATABASE_URL: null,
  INVALID_DEPENDENCY: 'refused',
  INVALID_FILE: null,
  INVALID_HANDLER: 'refused',
  INVALID_ID: 'refused',
  INVALID_INPUT: null,
  INVALID_ITEM: 'refused',
  INVALID_JSON: null,
  INVALID_KEY: 'refused',
  INVALID_LINES: null,
  INVALID_METADATA: 'refused',
  INVALID_NODE: 'refused',
  INVALID_ORDERING: 'refused',
  INVALID_PAYLOAD: 'refused',
  INVALID_PRIORITY: 'refused',
  INVALID_REQUEST: 'invalid',
  INVALID_SETTINGS: null,
  INVALID_TAG: 'refused',
  INVALID_TARGET: 'refused',
  INVALID_TASK: 'refused',
  INVALID_TIME: 'refused',
  INVALID_UTF8: null,
  KEY_CONFLICT: 'refused',
  LANE_BUSY: 'conflict',
  LINE_TOO_LONG: null,
  LOSSY_NUMBER: 'invalid',
  MALFORMED_ID: 'refused',
  NOT_ALLOWED: 'refused',
  PAYLOAD_TOO_LARGE: 'refused',
  TARGET_BUSY: 'conflict',
  TASK_REFUSED: 'refused',
  TASK_TOO_HEAVY: 'refused',
  TASK_TOO_LARGE: 'refused',
  TOO_MANY_ITEMS: 'too-large',
  TOO_MANY_TASKS: 'too-large',
  TOO_MANY_VALUES: 'too-large',
  UNKNOWN_FANOUT: 'refused',
  UNKNOWN_FIELD: 'refused',
  UNKNOWN_HANDLER: 'not-found',
  UNKNOWN_SEGMENT: 'refused',
  BACKLOGGED: 'backlogged',
  QUOTA: 'quota',
  CANCELLED: 'conflict',
  CODEC_FAILED: 'unavailable',
  COMPLETION_STALE: 'conflict',
  COMPLETION_TOO_EARLY: 'too-early',
  FANOUT_COMPLETE: 'conflict',
  FANOUT_EXPIRED: 'conflict',
  FANOUT_SEALED: 'conflict',
  NOT_CANCELLABLE: 'conflict',
  NOT_FOUND: 'not-found',
  NOT_HALTED: 'conflict',
  OTHER_BATCH_HALTS: 'conflict',
  NOT_UNKNOWN: 'conflict',
  TIMEOUT: 'unavailable',
  DATABASE_BUSY: 'unavailable',
  API_REFUSED: null,
  API_UNAVAILABLE: null,
  DATABASE_ERROR: null,
  DATABASE_UNAVAILABLE: 'unavailable',
  SCHEMA_DIFFERS: 'unavailable',
  SCHEMA_MISSING: 'unavailable',
  SCHEMA_NEWER: 'unavailable',
  TEMPORAL_REFUSED: 'unavailable',
  TEMPORAL_UNAVAILABLE: 'unavailable',
  DEV_SERVER: null,
  PACKAGE_MISSING: null,
  INTERNAL: null,
  WORKER_POISONED: null,
};

/** A queue of thousands takes longer than that to drain. */
const BACKLOG_S = 5;

/** Returns the problem of an error with this code; null: the code has none. */
export const problemOfCode = (code: string): ProblemName | null =>
  Object.hasOwn(BY_CODE, code) ? BY_CODE[code as ErrorCode] : null;

/**
 * Turns any error into the problem to answer; an unknown one is a bug: 500, its message in the log
 * only.
 */
export const problemOf = (error: unknown): ApiProblem => {
  if (error instanceof ApiProblem) return error;
  const code = codeOf(error);
  if (error instanceof InvalidTaskError) return ofTasks(error);
  const known = code === undefined ? null : problemOfCode(code);
  if (known !== null) return ofCode(error as Error, code as ErrorCode, known);
  // From the stopping server, a lock, a deadlock: nothing was committed, or it was and repeating it
  // is safe.
  if (isConnectionError(error) || (code !== undefined && isRetryable(error)))
    return new ApiProblem('unavailable', 'The database did not answer. Try again.', {
      code: 'DATABASE_UNAVAILABLE',
      retryAfterS: AGAIN_S,
    });
  return new ApiProblem('internal', 'Unexpected error; see the log of the API.');
};

const ofCode = (error: Error, code: ErrorCode, name: ProblemName): ApiProblem => {
  const field = /^([a-zA-Z][\w.[\]]*): expected/.exec(error.message)?.[1];
  const extras: ProblemExtras = {
    code,
    ...(field === undefined ? {} : { errors: [{ field, message: error.message.slice(field.length + 2) }] }),
    ...specialsOf(error),
  };
  return new ApiProblem(name, error.message, name === 'unavailable' ? { ...extras, retryAfterS: AGAIN_S } : extras);
};

const specialsOf = (error: Error): ProblemExtras => {
  if (error instanceof BackloggedError)
    return { retryAfterS: BACKLOG_S, more: { scope: error.scope, depth: error.depth, limit: error.limit } };
  if (error instanceof CompletionTooEarlyError)
    return { retryAfterS: Math.max(1, Math.ceil(error.retryAfterMs / 1_000)) };
  if (error instanceof CompletionStaleError) return { more: { batch: error.batch, state: error.state } };
  if (error instanceof NotCancellableError) return { more: { batch: error.batch, state: error.status } };
  if (error instanceof OtherBatchHaltsError) return { more: { batch: error.batch, haltedBy: error.haltedBy } };
  if (error instanceof InvalidCompletionError) return { errors: [{ field: error.field, message: error.message }] };
  if (error instanceof InvalidItemError)
    return {
      errors: error.problems
        .slice(0, MOST_NAMED)
        .map(({ id, code, message }) => ({ field: 'items', id, code, message })),
      more: { applied: error.applied, ...omitted(error.problems.length - MOST_NAMED) },
    };
  return {};
};

/**
 * Returns the problem of invalid tasks: an id that is taken is a conflict; the handler refuses
 * anything else.
 */
const ofTasks = (error: InvalidTaskError): ApiProblem => {
  const isConflict = error.problems.every(({ code }) => code === 'ID_CONFLICT');
  return new ApiProblem(isConflict ? 'id-conflict' : 'refused', error.message, {
    code: error.code,
    errors: error.problems.slice(0, MOST_NAMED).map(fieldOf),
    more: omitted(error.problems.length - MOST_NAMED),
  });
};

const fieldOf = ({ index, field, ...rest }: TaskProblem) => ({ field: `[${index}].${field}`, index, ...rest });

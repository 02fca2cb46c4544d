import type { TaskProblem } from '../../client/errors';
import {
  BackloggedError,
  CompletionStaleError,
  CompletionTooEarlyError,
  InvalidCompletionError,
  InvalidTaskError,
  MusterError,
  NotCancellableError,
} from '../../client/errors';
import { InvalidItemError } from '../../client/fanouts/errors';
import { isConnectionError, isRetryable } from '../../postgres/errors';
import { codeOf } from '../../postgres/sqlState';
import type { ProblemExtras, ProblemName } from './problem';
import { ApiProblem } from './problem';

/** The one table of what an error of the client library is over HTTP, by its stable code. */
const BY_CODE: Readonly<Record<string, ProblemName>> = {
  // Of the documented form, or its contract had refused it (400): a rule that no schema says.
  INVALID_ARGUMENT: 'refused',
  UNKNOWN_HANDLER: 'not-found',
  NOT_FOUND: 'not-found',
  TOO_MANY_TASKS: 'too-large',
  BATCH_TOO_LARGE: 'too-large',
  BACKLOGGED: 'backlogged',
  ID_CONFLICT: 'id-conflict',
  NOT_UNKNOWN: 'conflict',
  NOT_CANCELLABLE: 'conflict',
  NOT_HALTED: 'conflict',
  TARGET_BUSY: 'conflict',
  CANCELLED: 'conflict',
  ASYNC_SCHEMA: 'refused',
  COMPLETION_STALE: 'conflict',
  COMPLETION_TOO_EARLY: 'too-early',
  INVALID_COMPLETION: 'refused',
  INVALID_DEPENDENCY: 'refused',
  INVALID_ITEM: 'refused',
  FANOUT_SEALED: 'conflict',
  FANOUT_COMPLETE: 'conflict',
  FANOUT_EXPIRED: 'conflict',
  TIMEOUT: 'unavailable',
  DATABASE_UNAVAILABLE: 'unavailable',
  DATABASE_BUSY: 'unavailable',
  SCHEMA_MISSING: 'unavailable',
  SCHEMA_NEWER: 'unavailable',
  SCHEMA_DIFFERS: 'unavailable',
  TEMPORAL_UNAVAILABLE: 'unavailable',
  TEMPORAL_REFUSED: 'unavailable',
};

/** Seconds after which it is worth another try. */
const AGAIN_S = 1;
/** A queue of thousands takes longer than that to drain. */
const BACKLOG_S = 5;
/** Named one by one; of more, the first. */
const MOST_NAMED = 1_000;

/** Any error as what is answered; what nobody knows is a bug: 500, its message in the log only. */
export const problemOf = (error: unknown): ApiProblem => {
  if (error instanceof ApiProblem) return error;
  const code = codeOf(error);
  if (error instanceof InvalidTaskError) return ofTasks(error);
  if (code !== undefined && Object.hasOwn(BY_CODE, code)) return ofCode(error as Error, code);
  if (error instanceof MusterError && error.code.startsWith('INVALID_'))
    return new ApiProblem('refused', error.message, { code: error.code });
  // The stopping server's, a lock's, a deadlock's: nothing was committed, or it was and repeating
  // it is safe.
  if (isConnectionError(error) || (code !== undefined && isRetryable(error)))
    return new ApiProblem('unavailable', 'The database did not answer. Try again.', {
      code: 'DATABASE_UNAVAILABLE',
      retryAfterS: AGAIN_S,
    });
  return new ApiProblem('internal', 'Unexpected; the log of the API says more.');
};

const ofCode = (error: Error, code: string): ApiProblem => {
  const name = BY_CODE[code]!;
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
  if (error instanceof InvalidCompletionError) return { errors: [{ field: error.field, message: error.message }] };
  if (error instanceof InvalidItemError)
    return {
      errors: error.problems
        .slice(0, MOST_NAMED)
        .map(({ id, code, message }) => ({ field: 'items', id, code, message })),
      more: { applied: error.applied },
    };
  return {};
};

/** An id that is taken is a conflict; anything else is what the handler refuses. */
const ofTasks = (error: InvalidTaskError): ApiProblem => {
  const isConflict = error.problems.every(({ code }) => code === 'ID_CONFLICT');
  return new ApiProblem(isConflict ? 'id-conflict' : 'refused', error.message, {
    code: error.code,
    errors: error.problems.slice(0, MOST_NAMED).map(fieldOf),
  });
};

const fieldOf = ({ index, field, ...rest }: TaskProblem) => ({ field: `[${index}].${field}`, index, ...rest });

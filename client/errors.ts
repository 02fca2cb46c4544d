import type { ErrorCode } from '../workflows/planning/errorCodes';
import { show } from '../handlers/text';

/**
 * The base class of the client's errors. Each error has a stable `code`. Its message names the
 * field, what was expected, what was given, and the remedy.
 */
export class MusterError extends Error {
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** One problem of one task of a call. */
export interface TaskProblem {
  /** Index of the task in the call, from 0. */
  index: number;
  id?: string;
  field: string;
  code: ErrorCode;
  message: string;
}

const shown = (problem: TaskProblem): string =>
  `task ${problem.index}${problem.id === undefined ? '' : ` (id ${JSON.stringify(cut(problem.id))})`}, ${problem.field}: ${problem.message}`;
const cut = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}...` : text);

/** Some tasks of a call cannot be accepted. Nothing of the call was accepted. */
export class InvalidTaskError extends MusterError {
  constructor(readonly problems: readonly TaskProblem[]) {
    const more = problems.length > 5 ? `\n  and ${problems.length - 5} more` : '';
    super(
      problems[0]?.code ?? 'INVALID_TASK',
      `Nothing was accepted:\n  ${problems.slice(0, 5).map(shown).join('\n  ')}${more}`,
    );
  }
}

/** The client was given no handler of this name. */
export class UnknownHandlerError extends MusterError {
  constructor(name: string, known: readonly string[]) {
    super(
      'UNKNOWN_HANDLER',
      `handler: expected one of ${known.map((one) => `"${one}"`).join(', ') || '(none is configured)'}, got ${JSON.stringify(name)}. Define it in the config file (muster.config.ts).`,
    );
  }
}

/** One call had more tasks than are allowed. Nothing was accepted. */
export class TooManyTasksError extends MusterError {
  constructor(limit: number, got: number) {
    super(
      'TOO_MANY_TASKS',
      `tasks: expected at most ${limit} in one call, got ${got}. ` +
        'Send them in several calls, or pass an async iterable.',
    );
  }
}

/**
 * The schema of a handler has an asynchronous refinement or transform, for which a submit cannot
 * wait. Nothing was accepted.
 */
export class AsyncSchemaError extends MusterError {
  constructor(handler: string, cause: unknown) {
    super(
      'ASYNC_SCHEMA',
      `Cannot check the payload: the schema of handler "${handler}" has an asynchronous refinement ` +
        `or transform. Make it synchronous, or do that check before the submit or in the handler's ` +
        'submit. Nothing was accepted.',
      { cause },
    );
  }
}

/**
 * Back pressure upstream (`maxQueued`): too many tasks are waiting, and nothing was accepted.
 * Submit again when the backlog has drained; the same ids are safe to repeat.
 */
export class BackloggedError extends MusterError {
  constructor(
    readonly scope: string,
    readonly depth: number,
    readonly limit: number,
  ) {
    super(
      'BACKLOGGED',
      `${scope} has ${depth} tasks waiting; more would exceed maxQueued (${limit}). Nothing was accepted; submit again when the backlog has drained.`,
    );
  }
}

/**
 * The hook `taskAccepted` refuses the tasks of a call; it throws this. Nothing of the call, or of
 * that chunk of a stream, was accepted.
 */
export class TaskRefusedError extends MusterError {
  constructor(reason: string, options?: ErrorOptions) {
    super('TASK_REFUSED', reason, options);
  }
}

/** The hook `taskAccepted` failed, or did not end in time. Nothing was accepted. */
export class HookFailedError extends MusterError {
  constructor(why: string, cause: unknown) {
    super('HOOK_FAILED', `Cannot accept tasks: ${why}. Correct the hook, and submit again. Nothing was accepted.`, {
      cause,
    });
  }
}

/** The named object does not exist, or was deleted after its retention period. */
export class NotFoundError extends MusterError {
  /** `of` names what contains the object, such as a handler. */
  constructor(what: string, name: string, remedy = '', of = '') {
    const subject = `${what[0]!.toUpperCase()}${what.slice(1)} ${JSON.stringify(name)}${of === '' ? '' : ` of ${of}`}`;
    super('NOT_FOUND', `${subject} not found.${remedy === '' ? '' : ` ${remedy}`}`);
  }
}

/** The call needs Temporal, which cannot be reached. */
export class TemporalUnavailableError extends MusterError {
  constructor(address: string, why: string, cause: unknown) {
    super(
      'TEMPORAL_UNAVAILABLE',
      `Cannot connect to Temporal at ${address}: ${why}. Check TEMPORAL_ADDRESS and that the server ` +
        'is up; if it ends connections, the client certificate (TEMPORAL_TLS_CLIENT_*).',
      { cause },
    );
  }
}

/** A verb was called with an invalid argument. Nothing was done. */
export class InvalidArgumentError extends MusterError {
  constructor(field: string, expected: string, got: unknown, remedy = '') {
    super(
      'INVALID_ARGUMENT',
      `${field}: expected ${expected}, got ${shownValue(got)}.${remedy === '' ? '' : ` ${remedy}`}`,
    );
  }
}
const shownValue = (value: unknown): string => {
  return cut(value === undefined ? 'nothing' : jsonOrShown(value));
};

const jsonOrShown = (value: unknown): string => {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return show(value); // not JSON: a BigInt, a circular value
  }
};

/** `resolve` was called for a batch or task that is not `unknown`. Nothing was changed. */
export class NotUnknownError extends MusterError {
  constructor(what: string, state: string) {
    super(
      'NOT_UNKNOWN',
      `${what}: expected state unknown (parked), got ${state}. ` +
        'Nothing was changed; only an unknown outcome can be resolved.',
    );
  }
}

/**
 * A batch cannot be cancelled, because the downstream has or may have it, or because it has ended.
 * `status` is its status in its lane, or its state. Nothing was changed.
 */
export class NotCancellableError extends MusterError {
  constructor(
    readonly batch: number,
    readonly status: string,
    /** Why it cannot be cancelled: what it waits for, or how it ended. */
    readonly why: string,
  ) {
    super('NOT_CANCELLABLE', `batch ${batch} (${status}) cannot be cancelled: ${why}. Nothing was changed.`);
  }
}

/** Another batch halts a lane now than the one that was meant. Nothing was changed. */
export class OtherBatchHaltsError extends MusterError {
  constructor(
    service: string,
    /** The batch that was meant. */
    readonly batch: number,
    /** The batch that halts the lane. */
    readonly haltedBy: number,
  ) {
    super(
      'OTHER_BATCH_HALTS',
      `batch: expected the one that halts lane ${JSON.stringify(service)}, which is ${haltedBy} now, ` +
        `got ${batch}. Nothing was changed. Look at the lane again.`,
    );
  }
}

/** A field of a completion is invalid. Nothing was settled, and the batch is polled as before. */
export class InvalidCompletionError extends MusterError {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super('INVALID_COMPLETION', `${field}: ${message}. Nothing was settled.`);
  }
}

/**
 * A completion came before the acceptance of its batch was stored, or while another process is
 * concluding the batch. Report it again after `retryAfterMs` milliseconds.
 */
export class CompletionTooEarlyError extends MusterError {
  constructor(
    what: string,
    why: string,
    readonly retryAfterMs: number,
  ) {
    super('COMPLETION_TOO_EARLY', `${what}: ${why}. Report it again in ${retryAfterMs} ms.`);
  }
}

/**
 * A completion came for a batch that has ended with another answer, or that the downstream does not
 * have. Nothing was changed.
 */
export class CompletionStaleError extends MusterError {
  constructor(
    readonly batch: number,
    /** The present state of the batch. */
    readonly state: string,
    why: string,
  ) {
    super('COMPLETION_STALE', `batch ${batch} (${state}): ${why}. Nothing was changed; see \`muster batch ${batch}\`.`);
  }
}

/** `waitFor` timed out. The tasks continue. */
export class WaitTimeoutError extends MusterError {
  constructor(
    readonly timeoutMs: number,
    /** Number of tasks that have not ended, by state. */
    readonly open: Readonly<Record<string, number>>,
  ) {
    const states = Object.entries(open).map(([state, n]) => `${n} ${state}`);
    const total = Object.values(open).reduce((sum, n) => sum + n, 0);
    super(
      'TIMEOUT',
      `waitFor: ${total} ${total === 1 ? 'task has' : 'tasks have'} not ended after ${timeoutMs} ms ` +
        `(${states.join(', ')}). They continue; wait again, or call explain(id) to see what a task is ` +
        'waiting for.',
    );
  }
}

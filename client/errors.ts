import type { ErrorCode } from '../workflows/planning/errorCodes';
import { show } from '../handlers/text';

/**
 * The base of what the client throws: few classes, each with a stable `code`; messages name the
 * field, what was expected, what came, and the remedy.
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
  /** Index in the call, from 0. */
  index: number;
  id?: string;
  field: string;
  code: ErrorCode;
  message: string;
}

const shown = (problem: TaskProblem): string =>
  `task ${problem.index}${problem.id === undefined ? '' : ` (id ${JSON.stringify(cut(problem.id))})`}, ${problem.field}: ${problem.message}`;
const cut = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}...` : text);

/**
 * Tasks that cannot be accepted; nothing of the call was, unless partial acceptance was requested.
 */
export class InvalidTaskError extends MusterError {
  constructor(readonly problems: readonly TaskProblem[]) {
    const more = problems.length > 5 ? `\n  and ${problems.length - 5} more` : '';
    super(
      problems[0]?.code ?? 'INVALID_TASK',
      `Nothing was accepted:\n  ${problems.slice(0, 5).map(shown).join('\n  ')}${more}`,
    );
  }
}

/** No handler of this name was given to the client. */
export class UnknownHandlerError extends MusterError {
  constructor(name: string, known: readonly string[]) {
    super(
      'UNKNOWN_HANDLER',
      `handler: expected one of ${known.map((one) => `"${one}"`).join(', ') || '(none is configured)'}, got ${JSON.stringify(name)}. Define it in the config file (muster.config.ts).`,
    );
  }
}

/** More tasks than one call takes: nothing was accepted. */
export class TooManyTasksError extends MusterError {
  constructor(limit: number, got: number) {
    super(
      'TOO_MANY_TASKS',
      `tasks: expected at most ${limit} in one call, got ${got}. Send them in several calls, or pass an async iterable.`,
    );
  }
}

/**
 * A handler's schema has checks that answer later (an asynchronous refinement or transform): a
 * submit cannot wait for them. Nothing was accepted.
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
 * Back pressure upstream (`maxQueued`): wait until the depth has fallen and submit again; the same
 * ids are safe to repeat.
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

/** What was named does not exist, or was deleted after its retention period. */
export class NotFoundError extends MusterError {
  /** `of` names what contains it, such as a handler. */
  constructor(what: string, name: string, remedy = '', of = '') {
    const subject = `${what[0]!.toUpperCase()}${what.slice(1)} ${JSON.stringify(name)}${of === '' ? '' : ` of ${of}`}`;
    super('NOT_FOUND', `${subject} not found.${remedy === '' ? '' : ` ${remedy}`}`);
  }
}

/** Temporal cannot be reached, and the call needs it. */
export class TemporalUnavailableError extends MusterError {
  constructor(address: string, cause: unknown) {
    super(
      'TEMPORAL_UNAVAILABLE',
      `Temporal at ${address} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}. Check TEMPORAL_ADDRESS and that the server is up.`,
      { cause },
    );
  }
}

/** An invalid argument of a verb. */
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

/** `resolve` of a batch or task that is not unknown: nothing was changed. */
export class NotUnknownError extends MusterError {
  constructor(what: string, state: string) {
    super(
      'NOT_UNKNOWN',
      `${what}: expected state unknown (parked), got ${state}. Nothing was changed; only an unknown outcome can be resolved.`,
    );
  }
}

/**
 * A cancel of a batch that the downstream has or may have, or that has ended (`status` in its
 * lane): nothing was changed.
 */
export class NotCancellableError extends MusterError {
  constructor(
    readonly batch: number,
    readonly status: string,
    /** What it waits for, or how it ended. */
    readonly why: string,
  ) {
    super('NOT_CANCELLABLE', `batch ${batch} (${status}) cannot be cancelled: ${why}. Nothing was changed.`);
  }
}

/** An invalid completion, by field: nothing was settled, and the batch is polled as before. */
export class InvalidCompletionError extends MusterError {
  constructor(
    readonly field: string,
    message: string,
  ) {
    super('INVALID_COMPLETION', `${field}: ${message}. Nothing was settled.`);
  }
}

/**
 * The acceptance of the batch is not written yet, or another process is concluding it right now:
 * send it again after `retryAfterMs`.
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

/** The batch has ended with another answer, or is not with the downstream: nothing was changed. */
export class CompletionStaleError extends MusterError {
  constructor(
    readonly batch: number,
    /** Present state of the batch. */
    readonly state: string,
    why: string,
  ) {
    super('COMPLETION_STALE', `batch ${batch} (${state}): ${why}. Nothing was changed; see \`muster batch ${batch}\`.`);
  }
}

/** `waitFor` timed out; the tasks continue. */
export class WaitTimeoutError extends MusterError {
  constructor(
    readonly timeoutMs: number,
    /** Tasks that had not ended, by state. */
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

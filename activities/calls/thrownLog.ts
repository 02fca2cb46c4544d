import type { Handler } from '../../handlers/types';
import type { DownstreamContext, Results } from '../../handlers/contract';
import { describeThrown } from '../../handlers/text';
import { stackOf, userFrame } from '../../handlers/stack';
import { isDeclared } from '../../handlers/thrown';

interface WarnLog {
  warn(fields: object, message: string): void;
}

/**
 * Distinct errors that are remembered; the one logged longest ago is forgotten first, and logged
 * again when it comes again.
 */
const REMEMBERED = 500;

/**
 * Logs what the functions of handlers throw, once per distinct error, handler and function: an
 * error that every call runs into is one line, not one per call. Two errors are the same where they
 * were thrown at the same place, whatever their messages say.
 */
export class ThrownLog {
  private readonly seen = new Set<string>();

  constructor(
    private readonly log: WarnLog,
    private readonly remembered = REMEMBERED,
    /** Messages are logged. With a codec they are not: only the names of errors. */
    private readonly quotes = true,
  ) {}

  /**
   * Reports a thrown value, unless a handler expresses a result by it (`RejectedError` and so on).
   */
  report(handler: string, call: string, thrown: unknown): void {
    if (isDeclared(thrown)) return;
    const stack = stackOf(thrown);
    // A stack without a line of the user's comes from Muster itself (an HTTP status, a deadline):
    // it is reported with its batch.
    if (stack === null && thrown instanceof Error) return;
    const error = this.quotes ? describeThrown(thrown) : nameOf(thrown);
    if (!this.isNew(JSON.stringify([handler, call, stack ?? error.replace(/\d+/g, '0')]))) return;
    this.log.warn(
      { handler, call, error, ...(stack === null ? {} : { at: userFrame(stack), stack }) },
      'a handler threw',
    );
  }

  private isNew(key: string): boolean {
    if (this.seen.has(key)) return false;
    this.seen.add(key);
    if (this.seen.size > this.remembered) this.seen.delete(this.seen.values().next().value!);
    return true;
  }
}

const nameOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.name : typeof thrown);

/** Returns the same handler, with its throws reported. */
export const withThrownLog = (handler: Handler, log: ThrownLog): Handler => {
  const rethrow = (call: string, thrown: unknown): never => {
    log.report(handler.name, call, thrown);
    throw thrown;
  };
  const reported =
    <A extends unknown[], R>(call: string, run: (...given: A) => R | Promise<R>) =>
    async (...given: A): Promise<R> => {
      try {
        return await run(...given);
      } catch (thrown) {
        return rethrow(call, thrown);
      }
    };
  const { status, results, cancel, reconcile } = handler;
  return {
    ...handler,
    submit: reported('submit', async (batch, context) => {
      const answer = await handler.submit(batch, context);
      return isRead(answer)
        ? { ...answer, results: watched(answer.results, (thrown) => rethrow('submit', thrown)) }
        : answer;
    }),
    ...(status === undefined ? {} : { status: reported('status', status) }),
    ...(results === undefined
      ? {}
      : {
          results: reported('results', async (reference: string, context: DownstreamContext) =>
            watched(await results(reference, context), (thrown) => rethrow('results', thrown)),
          ),
        }),
    ...(cancel === undefined ? {} : { cancel: reported('cancel', cancel) }),
    ...(reconcile === undefined
      ? {}
      : {
          reconcile: reported('reconcile', async (batch, context) => {
            const answer = await handler.reconcile!(batch, context);
            return isRead(answer)
              ? { ...answer, results: watched(answer.results, (thrown) => rethrow('reconcile', thrown)) }
              : answer;
          }),
        }),
  };
};

/** Says whether the results are read as they arrive; an array cannot throw. */
const isRead = <T extends object>(answer: T): answer is T & { results: Results } =>
  typeof answer === 'object' && answer !== null && 'results' in answer;

const watched = (results: Results, rethrow: (thrown: unknown) => never): Results => {
  if (typeof results !== 'object' || results === null || Array.isArray(results)) return results as Results;
  if (Symbol.asyncIterator in results) return watchedAsync(results, rethrow);
  return Symbol.iterator in results ? watchedSync(results, rethrow) : results;
};

async function* watchedAsync<T>(source: AsyncIterable<T>, rethrow: (thrown: unknown) => never): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (thrown) {
    rethrow(thrown);
  }
}

function* watchedSync<T>(source: Iterable<T>, rethrow: (thrown: unknown) => never): Generator<T> {
  try {
    yield* source;
  } catch (thrown) {
    rethrow(thrown);
  }
}

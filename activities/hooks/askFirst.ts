import { readMemberIds } from '../../postgres/calls/members';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { withRetries } from '../../postgres/errors';
import { fenceOf, isStale, makeCall, mayStart, prepare } from '../calls/attempt';
import type { Call } from '../calls/call';
import type { CallerDeps, Carried } from '../calls/carried';
import type { CallEnd } from '../calls/door';
import { toCall } from '../calls/request';

/**
 * Calls of a worker with `beforeCall`: the hook is asked before the call is marked, so that a
 * process that dies in it leaves no attempt behind.
 */

/**
 * Reads which tasks are in batches that are about to be called, and marks nothing. What the tasks
 * hold is read with the mark, as without the hook: until the hook has answered, it may change, and
 * it would stand in memory.
 */
export const readAhead = async (deps: CallerDeps, batches: readonly CarriedBatch[]): Promise<Carried[]> => {
  const markedAtMs = performance.now();
  const members = await withRetries(() =>
    readMemberIds(
      deps.pool,
      batches.map(({ id }) => id),
    ),
  );
  return batches.map((batch) => ({
    batch,
    members: members.filter(({ batchId }) => batchId === batch.id),
    attempt: batch.attempt,
    markedAtMs,
    fence: fenceOf(deps.use),
  }));
};

/** Made: the call has an outcome. Otherwise nothing was sent: `marked`, or with no mark. */
export type Tried = { call: Call; outcome: CallEnd } | { marked: Carried } | { unmarked: CarriedBatch };

/** Makes a call of a batch that is marked, unless it waited too long. */
export const tryCall = async (deps: CallerDeps, carried: Carried, isStopping: () => boolean): Promise<Tried> => {
  const givesUp = (): boolean => isStopping() || isStale(deps, carried);
  if (isStale(deps, carried) || !(await mayStart(deps, carried.batch, givesUp))) return { marked: carried };
  return makeCall(deps, carried);
};

/** Asks the hook, marks the call, and makes it or writes down the refusal. */
export const askThenTry = async (deps: CallerDeps, seen: Carried, isStopping: () => boolean): Promise<Tried> => {
  const { batch } = seen;
  const refusal = await deps.hooks!.ask({ ...seen, attempt: batch.attempt + 1 });
  if (isStopping()) return { unmarked: batch };
  const [carried] = await prepare(deps, [batch]);
  if (carried === undefined) return { unmarked: batch };
  if (refusal !== null) return { call: toCall(deps, carried), outcome: refusal };
  return tryCall(deps, carried, isStopping);
};

import type { CompletionEnd } from '../../activities/accepted/complete';
import { completeAccepted, ringCompleted } from '../../activities/accepted/complete';
import type { CompletionReport, CompletionWhat } from '../../activities/accepted/completion';
import type { Homes } from '../../activities/shared';
import type { Handler } from '../../handlers/types';
import type { BatchState } from '../../workflows/planning/states';
import type { ClientContext } from '../context';
import { CompletionStaleError, CompletionTooEarlyError, InvalidCompletionError, NotFoundError } from '../errors';

/** The result of a completion. A repeat returns the same, with `repeated`. */
export interface CompletionAnswer {
  batch: number;
  reference: string | null;
  /**
   * State of the batch; `dissolved`: every member has moved to another batch, to be tried again or
   * into the halves of a split.
   */
  state: BatchState;
  /**
   * Number of members by reported status; a missing member counts under the status that it gets.
   * Null for a completion with status `failed`.
   */
  results: { ok: number; retry: number; failed: number; unknown: number } | null;
  repeated: boolean;
}

/**
 * Completes a batch. Reads results one by one and stores them in pages of at most 1 MB each, so
 * that an async iterable takes bounded memory, however many members the batch has.
 */
export const complete = async (
  client: ClientContext & { readonly homes: Homes },
  handler: Handler,
  told: CompletionWhat & CompletionReport,
): Promise<CompletionAnswer> => {
  await client.ready();
  const end = await completeAccepted(client, handler, told);
  if (end.kind !== 'completed') throw completionError(end, told);
  if (end.rings !== null) await ring(client, end.rings);
  const { batch, reference, state, results, repeated } = end;
  return { batch, reference, state, results, repeated };
};

/**
 * Rings after the commit. A wake that does not arrive changes nothing, since the sweeper repeats
 * it.
 */
const ring = (client: ClientContext, rings: Extract<CompletionEnd, { kind: 'completed' }>['rings']): Promise<void> =>
  client.wake(async (requests) => {
    const log = { warn: ({ err }: { err: Error }) => client.wakeFailed(err) };
    const { pool, prefix, told: outcomes } = client;
    await ringCompleted({ pool, prefix, requests, log, outcomes }, rings);
    return null;
  });

/** Returns the error for a completion that changed nothing. */
export const completionError = (
  end: Exclude<CompletionEnd, { kind: 'completed' }>,
  { reference, batchId }: CompletionWhat,
): Error => {
  const [what, name] = reference === undefined ? ['batch', String(batchId)] : ['reference', reference];
  switch (end.kind) {
    case 'unknown-batch':
      return new NotFoundError(
        what,
        name,
        'No batch of this handler was accepted under this name, or it was deleted after its retention period.',
      );
    case 'several':
      return new InvalidCompletionError(
        'reference',
        `expected the reference of one batch, but several have ${JSON.stringify(name)}; pass batchId`,
      );
    case 'later':
      return new CompletionTooEarlyError(`${what} ${JSON.stringify(name)}`, end.error, end.retryAfterMs);
    case 'stale':
      return new CompletionStaleError(end.batch, end.state, end.error);
    case 'unreadable':
      return new InvalidCompletionError(end.field, end.message);
  }
};

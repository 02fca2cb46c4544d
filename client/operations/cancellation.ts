import * as store from '../../postgres/accepted/cancellation';
import { withRetries } from '../../postgres/errors';
import { inTransaction } from '../../postgres/pool';
import type { CancellationCause, CancellationState } from '../../workflows/planning/calls/cancellation';
import {
  CANCELLATION_CAUSES,
  CANCELLATION_STATES,
  shownCancellation,
} from '../../workflows/planning/calls/cancellation';
import { BATCH_STATES, batchStateName } from '../../workflows/planning/states';
import { wakeMonitor } from '../../workflows/wake';
import type { ClientContext } from '../context';
import { NotCancellableError } from '../errors';
import type { BatchView } from '../views';

const nameOf = <T extends string>(names: Readonly<Record<T, number>>, code: number): T =>
  (Object.entries(names) as [T, number][]).find(([, number]) => number === code)![0];

export const cancellationStateName = (code: number): CancellationState => nameOf(CANCELLATION_STATES, code);
export const cancellationCauseName = (code: number): CancellationCause => nameOf(CANCELLATION_CAUSES, code);

export const cancellationView = (
  { reference, cause: causeCode, state, tries, error, requestedAt, endedAt }: store.CancellationRow,
  batch: { state: number; left: number },
): NonNullable<BatchView['cancellation']> => {
  const cause = cancellationCauseName(causeCode);
  const applied = batch.state === BATCH_STATES.succeeded && batch.left === 0;
  const iso = (time: string): string => new Date(time).toISOString();
  return {
    state: shownCancellation(cancellationStateName(state), { cause, applied }),
    cause,
    reference,
    tries,
    error,
    requestedAt: iso(requestedAt),
    endedAt: endedAt === null ? null : iso(endedAt),
  };
};

/**
 * Requests the cancellation of a batch that the downstream has accepted. The request is committed
 * first, and then the handler's monitor passes it on. Null: there is no such batch.
 *
 * @throws NotCancellableError if the downstream does not have the batch or cannot be asked, or if
 * the batch has ended. Then nothing was changed.
 */
export const cancelAccepted = async (client: ClientContext, batch: number): Promise<CancellationState | null> => {
  const found = await withRetries(() => inTransaction(client.pool, (tx) => store.cancelAccepted(tx, batch)));
  if (found === null) return null;
  if (found.cancellation === null) throw new NotCancellableError(batch, batchStateName(found.state), whyNot(found));
  if (found.cancellation === CANCELLATION_STATES.requested) await wakeMonitors(client, [found.handler]);
  return cancellationStateName(found.cancellation);
};

const whyNot = ({ state, accepted, calling, handler }: store.CancelledAccepted): string => {
  if (accepted) return `the downstream accepted it, and handler "${handler}" defines no cancel; wait for its outcome`;
  if (calling) return 'a call with it is in flight; wait for the answer';
  if (state === BATCH_STATES.unknown) return 'it may have been applied: resolve it';
  if (state !== BATCH_STATES.open) return 'it has ended';
  return 'it is not a lane batch, and the downstream has not accepted it';
};

type WakingClient = Pick<ClientContext, 'pool' | 'prefix' | 'wake'>;

/**
 * Wakes the monitors that send the cancellations, whose rows are committed. The sweeper repeats a
 * wake that fails.
 */
const wakeMonitors = async (client: WakingClient, handlers: readonly string[]): Promise<void> => {
  for (const handler of handlers) await client.wake((requests) => wakeMonitor(requests, client.prefix, handler));
};

/**
 * Wakes monitors after an operator's decision about batches of these targets, so that the
 * downstream is asked at once to cancel batches that were given up.
 */
export const wakeGivenUp = async (client: WakingClient, targetIds: readonly number[]): Promise<void> => {
  if (targetIds.length > 0) await wakeMonitors(client, await store.handlersToCancel(client.pool, targetIds));
};

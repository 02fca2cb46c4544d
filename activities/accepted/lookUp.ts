import { readMembersOf } from '../../postgres/calls/members';
import type { ActivityDeps } from '../deps';
import { reconcileOutcome } from '../../handlers';
import type { Call } from '../calls/call';
import { openMembers } from '../codec/openMembers';
import { logOf, toBatch } from '../calls/request';
import type { CallEnd } from '../calls/door';

/** The outcome is unknown: look it up, if the handler can. */
export interface LookUp {
  kind: 'look-up';
  error: string;
  knownStatus: 'pending' | 'lost';
  overdue: boolean;
}

/** The downstream may still finish the batch: poll again. */
export interface AskAgain {
  kind: 'ask-again';
  inMs: number;
  error: string;
}

/**
 * Decides about an accepted batch that the downstream has lost, or that is past its deadline. Looks
 * it up first, if the handler can; otherwise it is unknown: sent again if the handler is idempotent
 * or the batch is absent, parked if not (`decideSettlement`).
 */
export const lookUpAccepted = async (
  deps: ActivityDeps,
  call: Call,
  batch: { reference: string; overdue: boolean },
  known: { error: string; knownStatus: 'pending' | 'lost' },
  signal: AbortSignal,
): Promise<CallEnd | AskAgain> => {
  const { handler } = call;
  const { everyMs } = handler.poll;
  if (handler.reconcile === undefined) return { kind: 'unknown', error: known.error };
  call.members = await readMembersOf(deps.pool, call.batch.id);
  const unread = await openMembers(deps.sealer, call);
  if (unread !== null) return { kind: 'ask-again', inMs: everyMs, error: unread.error };
  const context = {
    signal,
    log: logOf(deps.log, call),
    idempotencyKey: call.batch.idempotencyKey,
    deadline: Date.now() + handler.timeoutMs,
  };
  const found = await reconcileOutcome(handler, toBatch(handler, call), context, call.pages);
  switch (found.kind) {
    case 'accepted':
      if (found.reference !== batch.reference) return found;
      // The look-up finds the reference that the status request does not know. Since they disagree,
      // wait; at the deadline the outcome is unknown.
      return known.knownStatus === 'lost' && !batch.overdue
        ? { kind: 'ask-again', inMs: everyMs, error: `${known.error}; a look-up still finds it` }
        : { kind: 'unknown', error: known.error };
    case 'absent': {
      const tooYoungMs = handler.absentAfterMs - (performance.now() - call.calledAtMs);
      if (tooYoungMs > 0)
        return { kind: 'ask-again', inMs: tooYoungMs, error: `${known.error}; a look-up finds nothing yet` };
      call.absent = true;
      return { kind: 'unknown', error: `${known.error}; the downstream does not have it` };
    }
    case 'unsure':
      return { kind: 'unknown', error: found.error === undefined ? known.error : `${known.error}; ${found.error}` };
    default:
      return found;
  }
};

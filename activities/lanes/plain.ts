import { recoverAllowed } from '../../postgres/calls/backPressure';
import { withRetries } from '../../postgres/errors';
import type { CallOutcome } from '../../workflows/planning/calls/plans';
import type { ActivityDeps } from '../deps';
import { askEveryMs } from '../../handlers';
import { writeAccepted, writeApplied } from './writer';
import { noticesOf } from '../callbacks/notices';
import type { Call, Settled } from '../calls/call';

type PlainOutcome = Extract<CallOutcome, { kind: 'results' | 'accepted' }>;

/**
 * Of a batch in a lane: applied or accepted, and nothing else to say. Such answers of many lanes
 * share their statements.
 */
export const isPlainInLane = (outcome: CallOutcome, call: Call): outcome is PlainOutcome =>
  call.batch.inLane &&
  // A deadline is counted, a refused half is decided with it, a completion noted: `settleCall`
  // does.
  call.overdue !== true &&
  call.completion === undefined &&
  (outcome.kind === 'accepted' ||
    (outcome.kind === 'results' &&
      outcome.deviants.length === 0 &&
      call.batch.depth === 0 &&
      call.handler.distinctBy === undefined));

/** As `settleCall`, for those. */
export const settlePlainInLane = async (
  { pool }: Pick<ActivityDeps, 'pool'>,
  call: Call,
  outcome: PlainOutcome,
): Promise<Settled> => {
  const { batch, attempt, handler } = call;
  const { id } = batch;
  if (outcome.kind === 'accepted') {
    const poll = { every_ms: askEveryMs(handler), deadline_ms: handler.poll.deadlineMs };
    const accepted = { id, attempt, reference: outcome.reference, ...poll };
    const { written, lanes } = await writeAccepted(pool, accepted);
    return { written, kind: 'accept', ring: false, againInMs: null, accepted: written, notices: false, lanes };
  }
  const notices = noticesOf(
    call,
    call.members.map((_, index) => index),
    [],
    'succeeded',
    null,
  );
  const { written, lanes } = await writeApplied(pool, { id, attempt, pages: await call.pages.rest(), notices });
  if (batch.reduced && written) await withRetries(() => recoverAllowed(pool, batch));
  return { written, kind: 'finish', ring: false, againInMs: null, accepted: false, notices: notices.length > 0, lanes };
};

import { findAccepted, putOffPolls, readMemberIds, takeReading } from '../postgres/poll';
import type { ActivityDeps } from './deps';
import { freeTargets } from './freeTargets';
import { readResults } from './handlers';
import type { Results } from './handlers/types';
import { ringLanes } from './ringLanes';
import { settleOutcome, toCall } from './submission';
import { SuccessWriter } from './successWriter';

/** Of which accepted batch, and its results as `handler.results` would give them. */
export interface Completion {
  handler: string;
  reference?: string;
  batchId?: number;
  results: Results;
}

/** The monitor asks again after it, should this process die; renewed while reading. */
const LEASE_MS = 15_000;

/**
 * Completion from outside (H7): the downstream tells its results by a signal or an HTTP callback, and nobody need ask. Answers the batch
 * and whether it was written (false: it was concluded meanwhile). Throws, with nothing settled, if there is no such batch, or if the
 * results are unreadable: the batch then stays accepted and is asked about as before. A member without a result is unknown (H2).
 * A batch that was parked at its deadline may still be completed. A downstream may call back before its acceptance is written here: it is
 * to be answered with an error that makes it call again.
 */
export const completeAccepted = async (
  deps: ActivityDeps,
  { handler: name, reference, batchId, results }: Completion,
): Promise<{ batchId: number; written: boolean }> => {
  const handler = deps.handlers.get(name);
  if (handler === undefined)
    throw new Error(`handler: expected one of ${[...deps.handlers.keys()].join(', ')}, got ${JSON.stringify(name)}`);
  if (reference === undefined && batchId === undefined)
    throw new Error('expected a reference or a batchId, got neither');
  const found = await findAccepted(deps.pool, name, { reference: reference ?? null, batchId: batchId ?? null });
  const what = reference === undefined ? `batch ${batchId}` : `reference ${JSON.stringify(reference)}`;
  if (found.length > 1)
    throw new Error(`${what} of handler ${name}: expected one batch, got several; give its batchId`);
  const batch = found[0];
  if (batch === undefined) throw new Error(`${what} of handler ${name}: there is no accepted batch, or it is over`);
  const attempt = await takeReading(deps.pool, batch.id, batch.attempt, LEASE_MS);
  if (attempt === null) return { batchId: batch.id, written: false };
  const members = await readMemberIds(deps.pool, batch.id);
  const call = toCall({ pool: deps.pool, handler }, { batch: { ...batch, attempt }, members, attempt });
  const putOff = (inMs: number): Promise<void> =>
    putOffPolls(deps.pool, [{ id: batch.id, attempt, error: null }], inMs);
  const renewal = setInterval(() => void putOff(LEASE_MS).catch(() => undefined), LEASE_MS / 3);
  const outcome = await readResults(results, members, call.pages).finally(() => clearInterval(renewal));
  if (outcome.kind !== 'results') await putOff(handler.poll.everyMs);
  if (outcome.kind !== 'results')
    throw new Error(`${what} of handler ${name}: ${outcome.kind === 'unknown' ? outcome.error : outcome.kind}`);
  const input = { leaderId: batch.leaderId, handler: name, epoch: batch.epoch, no: 0, slots: 0 };
  const signal = new AbortController().signal;
  const settled = await settleOutcome(
    { ...deps, handler, signal, successes: new SuccessWriter(deps.pool), input },
    call,
    outcome,
  );
  if (settled.written && batch.inLane) await ringLanes(deps, settled.lanes);
  if (settled.written) await freeTargets(deps, name, [batch.targetId], settled.notices);
  return { batchId: batch.id, written: settled.written };
};

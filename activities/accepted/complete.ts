import { recoverAllowed } from '../../postgres/calls/backPressure';
import type { CompletionNote, ReportedBatch } from '../../postgres/accepted/completion';
import {
  findReportedById,
  findReportedByReference,
  isCalling,
  takeCompletion,
} from '../../postgres/accepted/completion';
import { withRetries } from '../../postgres/errors';
import type { PutOff } from '../../postgres/accepted/poll';
import { putOffPolls, stopPolling } from '../../postgres/accepted/poll';
import { readMemberIds } from '../../postgres/calls/members';
import type { CallOutcome } from '../../workflows/planning/calls/plans';
import type { BatchState } from '../../workflows/planning/states';
import { BATCH_STATES, batchStateName } from '../../workflows/planning/states';
import type { Completion, CompletionProblem } from './completion';
import { checkCompletion, CompletionReader } from './completion';
import type { ActivityDeps } from '../deps';
import type { ReleaseDeps } from '../grouping/dependents';
import { releaseDependents } from '../grouping/dependents';
import { freeTargets } from '../grouping/freeTargets';
import { cutText, readResults, ResultsInterrupted } from '../../handlers';
import type { Handler } from '../../handlers/types';
import type { CompletionRings } from './rings';
import { ringLanes } from '../lanes/ring';
import type { Call, Settled } from '../calls/call';
import { settle } from '../calls/settle';
import { toCall } from '../calls/request';
import { recordReported } from '../tracing/acceptedSpan';
import { homeOf } from '../homes';

/**
 * The result of a completion. Only `completed` changed anything (a repeat changes nothing more).
 */
export type CompletionEnd =
  | {
      kind: 'completed';
      batch: number;
      reference: string | null;
      state: BatchState;
      results: CompletionNote['results'];
      repeated: boolean;
      rings: CompletionRings | null;
    }
  | { kind: 'unknown-batch' }
  | { kind: 'several' }
  /** The completion is valid but came too early: the caller sends it again. */
  | { kind: 'later'; retryAfterMs: number; error: string }
  | { kind: 'stale'; batch: number; state: BatchState; error: string }
  | ({ kind: 'unreadable' } & CompletionProblem);

/** If this process dies, the monitor polls again after this time; renewed while reading. */
const LEASE_MS = 15_000;
const RETRY_AFTER_MS = 1_000;

/** `homes`: those of a worker, whose hooks are told. */
type CompleteDeps = Pick<ActivityDeps, 'pool' | 'homes'>;

/**
 * Takes a completion from outside: the downstream, or another system on its behalf, reports the
 * outcome of a batch, so that the monitor need not poll for it. Results have the same form as those
 * of `submit`: a member without a result is unknown. Guarded like any settlement by (batch,
 * attempt), so it counts once; a repeat is recognized by its digest and gets the same answer. A
 * batch of unknown outcome, parked or waiting to be sent again, may be completed too. If the
 * acceptance is not written here yet: `later`, to be sent again. Unreadable results settle nothing:
 * the batch is polled as before. Rejects if the results break off (then nothing is settled either)
 * or the store is unavailable. The caller rings: `ringCompleted`.
 */
export const completeAccepted = async (
  { pool, homes }: CompleteDeps,
  handler: Handler,
  completion: Completion,
): Promise<CompletionEnd> => {
  const wrong = checkCompletion(completion);
  if (wrong !== null) return { kind: 'unreadable', ...wrong };
  let [batch, other] = await find(pool, handler.name, completion);
  if (batch === undefined && completion.reference !== undefined) {
    if (await isCalling(pool, handler.name))
      return later('no batch was accepted under this reference yet, but calls are in flight');
    // No call is in progress, so an acceptance is now in the store or will never be; look again,
    // since it may have been written after the first look.
    [batch, other] = await find(pool, handler.name, completion);
  }
  if (batch === undefined) return { kind: 'unknown-batch' };
  if (other !== undefined && isLive(other)) return { kind: 'several' };
  const reader = new CompletionReader(completion);
  if (!batch.open) return repeatOrRefusal(batch, await digestFor(batch, reader));
  const attempt = await takeCompletion(pool, batch.id, batch.attempt, LEASE_MS);
  if (attempt === null) return later('another process is concluding this batch right now');
  return conclude({ pool, homes }, handler, { ...batch, attempt }, completion, reader);
};

const find = async (pool: ActivityDeps['pool'], handler: string, completion: Completion): Promise<ReportedBatch[]> => {
  if (completion.reference !== undefined) return findReportedByReference(pool, handler, completion.reference);
  const batch = await findReportedById(pool, handler, completion.batchId!);
  return batch === null ? [] : [batch];
};

/** Wakes, after `completed`, everything that waited for the batch. */
export const ringCompleted = async (deps: ReleaseDeps, rings: CompletionRings | null): Promise<void> => {
  if (rings === null) return;
  await ringLanes(deps, rings.lanes);
  if (rings.awaited) await releaseDependents(deps);
  await freeTargets(deps, rings.handler, [rings.targetId], rings.hasNotifications);
};

const conclude = async (
  { pool, homes }: Pick<ActivityDeps, 'pool' | 'homes'>,
  handler: Handler,
  batch: ReportedBatch,
  completion: Completion,
  reader: CompletionReader,
): Promise<CompletionEnd> => {
  const { attempt } = batch;
  const members = await readMemberIds(pool, [batch.id]);
  const home = homeOf(homes, batch);
  const call = toCall({ handler, home }, { batch, members, attempt });
  const putOff = (inMs: number, reading: Pick<PutOff, 'readAgoMs'> = {}): Promise<void> =>
    putOffPolls(pool, [{ id: batch.id, attempt, error: null, ...reading }], inMs);
  const renew = (): void => {
    const readAgoMs = reader.quietMs();
    // The reporter hangs: the monitor may have the batch again, and this settles nothing then.
    if (readAgoMs < handler.poll.idleMs) putOff(LEASE_MS, { readAgoMs }).catch(() => undefined);
  };
  const renewal = setInterval(renew, LEASE_MS / 3);
  const outcome = await readOutcome(call, completion, reader)
    .catch(async (error: unknown) => {
      await putOff(handler.poll.everyMs);
      throw error instanceof ResultsInterrupted && error.side === 'source' ? error.cause : error;
    })
    .finally(() => clearInterval(renewal));
  const wrong = reader.problem ?? (outcome.kind === 'unknown' ? { field: 'results', message: outcome.error } : null);
  if (wrong !== null) {
    await putOff(handler.poll.everyMs);
    return { kind: 'unreadable', ...wrong };
  }
  const digest = reader.digest();
  if (digest === batch.note?.digest) {
    await putOff(handler.poll.everyMs);
    return repeatOrRefusal(batch, digest);
  }
  call.completion = { digest, results: countsOf(outcome, members.length) };
  const settled = await settle(call, outcome);
  if (settled.written) recordReported(call, outcome);
  return concluded(pool, handler, call, settled, outcome);
};

const readOutcome = async (
  call: Call,
  { status, error }: Completion,
  reader: CompletionReader,
): Promise<CallOutcome> => {
  if (status === 'failed')
    return { kind: 'rejected', error: cutText(error ?? 'the downstream failed the batch and gave no reason') };
  if (status !== 'expired') return readResults(reader.results(), call.members, call.pages);
  const why = cutText(`not done when its batch expired${error === undefined ? '' : `: ${error}`}`);
  return readResults(reader.results(), call.members, call.pages, { status: 'retry', error: why });
};

const concluded = async (
  pool: ActivityDeps['pool'],
  handler: Handler,
  { batch, completion, attempt }: Call,
  settled: Settled,
  outcome: CallOutcome,
): Promise<CompletionEnd> => {
  const found = await findReportedById(pool, handler.name, batch.id);
  if (found === null) return { kind: 'unknown-batch' }; // it was deleted just now, after its retention period
  if (!settled.written)
    return found.open && found.attempt !== attempt
      ? later('another process is concluding this batch right now')
      : repeatOrRefusal(found, completion!.digest);
  // Refused in a first split: its other half decides, so polling ends.
  if (settled.kind === 'await-sibling') await stopPolling(pool, batch.id, attempt);
  if (batch.reduced && outcome.kind === 'results' && outcome.deviants.length === 0)
    await withRetries(() => recoverAllowed(pool, batch));
  return {
    ...toldAgain(found, false),
    rings: {
      handler: handler.name,
      targetId: batch.targetId,
      lanes: settled.lanes,
      hasNotifications: settled.hasNotifications,
      awaited: settled.awaited,
    },
  };
};

const countsOf = (outcome: CallOutcome, members: number): CompletionNote['results'] => {
  if (outcome.kind !== 'results') return null;
  const counts = { ok: members - outcome.deviants.length, retry: 0, failed: 0, unknown: 0 };
  for (const { status } of outcome.deviants) counts[status]++;
  return counts;
};

const isLive = ({ state }: ReportedBatch): boolean => state === BATCH_STATES.open || state === BATCH_STATES.unknown;

const digestFor = async ({ note, n }: ReportedBatch, reader: CompletionReader): Promise<string | null> =>
  note === null ? null : reader.readDigest(n);

const toldAgain = (
  { id, reference, state, note }: ReportedBatch,
  repeated: boolean,
): Extract<CompletionEnd, { kind: 'completed' }> => ({
  kind: 'completed',
  batch: id,
  reference,
  state: batchStateName(state),
  results: note?.results ?? null,
  repeated,
  rings: null,
});

const repeatOrRefusal = (batch: ReportedBatch, digest: string | null): CompletionEnd => {
  if (digest !== null && digest === batch.note?.digest) return toldAgain(batch, true);
  if (batch.calling) return later('the call that sends this batch has not ended yet: its acceptance is not written');
  return { kind: 'stale', batch: batch.id, state: batchStateName(batch.state), error: whyNot(batch) };
};

const whyNot = ({ state, attempt, open, reference, n }: ReportedBatch): string => {
  const name = batchStateName(state);
  if (state === BATCH_STATES.unknown)
    return open
      ? 'it is parked as unknown: only results, or resolve, can still conclude it'
      : 'some of its tasks were resolved manually; resolve the others';
  if (state !== BATCH_STATES.open)
    return `it has ended (${name}, ${n} ${n === 1 ? 'task' : 'tasks'}), by an answer other than this one`;
  if (attempt === 0) return 'it was not sent yet';
  return reference === null
    ? 'the downstream refused it for now; it is waiting to be sent again'
    : 'it was refused already, and is waiting for the other half of its split';
};

const later = (error: string): CompletionEnd => ({ kind: 'later', retryAfterMs: RETRY_AFTER_MS, error });

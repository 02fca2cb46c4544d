import { linkedSignal } from '../deadline';
import { HaltError, LaterError } from '../errors';
import { cutText, describeThrown, show } from '../text';
import type {
  Batch,
  CallContext,
  CancelAnswer,
  ItemResult,
  ReconcileAnswer,
  ReferenceStatus,
  Results,
} from '../contract';
import type { Asked, FollowUp, FollowUps } from './followUps';
import { readPath } from './path';
import { errorOf, isSuccess, itemsIn, readItems, readJson } from './read';
import { retryAfterMs } from './retryAfter';
import { asText } from './template';
import type { IncomingAnswer, Transport } from './transport';

/** What all follow-up calls share. */
export interface Follower {
  readonly transport: Transport;
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
}

/** Most status calls at once, one per reference. */
const STATUS_CALLS_AT_ONCE = 8;

type Values = Record<string, string>;

const send = async (follower: Follower, plan: FollowUp, values: Values, signal: AbortSignal): Promise<IncomingAnswer> =>
  await follower.transport.send({
    method: plan.method,
    url: plan.url.render(values),
    headers: plan.headers.sent,
    signal,
  });

/**
 * Returns the error of a failed follow-up call. A refused credential or a redirect concerns every
 * call, and halts the handler; any other status concerns one reference only.
 */
async function failureOf(answer: IncomingAnswer, plan: FollowUp): Promise<Error> {
  const error = await errorOf(answer, plan.headers.secrets);
  const { statusCode } = answer;
  return statusCode === 401 || statusCode === 403 || (statusCode >= 300 && statusCode <= 399)
    ? new HaltError(error)
    : new Error(error);
}

const scalar = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;

/** Returns what an answer says. Throws an Error for a condition that cannot be evaluated. */
const lookUp = <N extends string>({ conditions, path, table }: Asked<N>, body: unknown): N | undefined => {
  const met = conditions?.find({ body });
  if (met !== undefined || path === undefined) return met;
  const text = scalar(readPath(body, path));
  return text === undefined ? undefined : table.find(text);
};

type StatusPlan = NonNullable<FollowUps['status']>;

/**
 * Returns the statuses of many references. A reference that cannot be polled is still pending, with
 * the reason as its error. Throws `HaltError` for a refused credential or a redirect.
 */
export async function statuses(
  follower: Follower,
  plan: StatusPlan,
  references: readonly string[],
  signal: AbortSignal,
): Promise<ReferenceStatus[]> {
  const found: ReferenceStatus[] = [];
  const queue = references.entries();
  const runner = async (): Promise<void> => {
    for (const [place, reference] of queue) found[place] = await statusOf(follower, plan, reference, signal);
  };
  await Promise.all(Array.from({ length: STATUS_CALLS_AT_ONCE }, runner));
  return found;
}

async function statusOf(
  follower: Follower,
  plan: StatusPlan,
  reference: string,
  signal: AbortSignal,
): Promise<ReferenceStatus> {
  // The time of this round is up: the next round polls the rest.
  if (signal.aborted) return { reference, status: 'pending', error: 'not asked: the round was over' };
  const linked = linkedSignal(signal, follower.timeoutMs);
  const { secrets } = plan.headers;
  try {
    const answer = await send(follower, plan, { reference }, linked.signal);
    if (answer.statusCode === 404) return { reference, status: 'lost', error: await errorOf(answer, secrets) };
    if (!isSuccess(answer)) throw await failureOf(answer, plan);
    const value = await readJson({ ...follower, secrets }, answer);
    const status = lookUp(plan, value);
    const error = plan.error === undefined ? undefined : (readPath(value, plan.error) ?? undefined);
    if (status !== undefined)
      return { reference, status, error: error === undefined ? undefined : cutText(asText(error)) };
    return {
      reference,
      status: 'pending',
      error: `expected a status known to statusUrl.statuses ${whatSaid(plan, value)}`,
    };
  } catch (error) {
    if (error instanceof HaltError) throw error;
    return { reference, status: 'pending', error: describeThrown(error) };
  } finally {
    linked.dispose();
  }
}

const whatSaid = ({ path }: StatusPlan, value: unknown): string =>
  path === undefined
    ? `by a condition, got ${show(value)}`
    : `at ${path.join('.')}, got ${show(readPath(value, path))}`;

/** Returns the results of one accepted batch, streamed if they are NDJSON. */
export async function resultsOf(
  follower: Follower,
  plan: NonNullable<FollowUps['results']>,
  reference: string,
  signal: AbortSignal,
): Promise<Results> {
  const answer = await send(follower, plan, { reference }, signal);
  if (!isSuccess(answer)) throw await failureOf(answer, plan);
  return await readItems({ ...follower, response: plan.response, secrets: plan.headers.secrets }, answer, undefined);
}

/**
 * Statuses that say that the batch had ended before, or is not known there: there is nothing to
 * stop.
 */
const ENDED_BEFORE = new Set([404, 409, 410]);
/** Statuses that say nothing about this batch, such as a refused credential or back pressure. */
const ASK_AGAIN = new Set([401, 403, 408, 425, 429]);

/** Asks the downstream to stop an accepted batch. */
export async function cancel(
  follower: Follower,
  plan: FollowUp,
  reference: string,
  signal: AbortSignal,
): Promise<CancelAnswer> {
  const linked = linkedSignal(signal, follower.timeoutMs);
  try {
    const answer = await send(follower, plan, { reference }, linked.signal);
    const { statusCode } = answer;
    if (isSuccess(answer)) {
      answer.body.destroy();
      return { status: 'cancelled' };
    }
    const error = await errorOf(answer, plan.headers.secrets);
    if (ENDED_BEFORE.has(statusCode)) return { status: 'late', error };
    if (statusCode >= 400 && statusCode <= 499 && !ASK_AGAIN.has(statusCode)) return { status: 'refused', error };
    if (statusCode === 429 || statusCode === 503) throw new LaterError(error, waitOf(answer));
    throw new Error(error);
  } finally {
    linked.dispose();
  }
}

const waitOf = ({ headers }: IncomingAnswer): { retryAfterMs?: number } => {
  const ms = retryAfterMs(headers, Date.now());
  return ms === undefined ? {} : { retryAfterMs: ms };
};

/**
 * Looks up a call whose answer was lost. Throws if the look-up itself fails, which counts as
 * `unsure`.
 */
export async function reconcile(
  follower: Follower,
  plan: NonNullable<FollowUps['reconcile']>,
  batch: Batch,
  { signal, idempotencyKey }: CallContext,
): Promise<ReconcileAnswer> {
  const answer = await send(follower, plan, { idempotencyKey, batchId: batch.id, target: batch.target }, signal);
  if (plan.absent.find(String(answer.statusCode)) === 'absent') {
    answer.body.destroy();
    return { status: 'absent' };
  }
  if (!isSuccess(answer)) throw await failureOf(answer, plan);
  const reader = { ...follower, response: plan.response, secrets: plan.headers.secrets };
  if (plan.path === undefined && plan.conditions === undefined)
    return { status: 'done', results: ofBatch(await readItems(reader, answer, batch.tasks.length), batch) };
  const value = await readJson(reader, answer);
  switch (lookUp(plan, value)) {
    case 'done':
      return { status: 'done', results: ofBatch(itemsIn(reader, answer, value, batch.tasks.length), batch) };
    case 'accepted': {
      const reference = plan.reference === undefined ? undefined : scalar(readPath(value, plan.reference));
      return reference === undefined ? { status: 'unsure' } : { status: 'accepted', reference };
    }
    case 'absent':
      return { status: 'absent' };
    default:
      return { status: 'unsure' };
  }
}

/**
 * Leaves out the results of other tasks. A downstream that is asked by the key answers for the
 * whole call, and this batch may consist of only the tasks that the call's answer left open.
 */
function ofBatch(results: Results, { tasks }: Batch): Results {
  const ids = new Set(tasks.map(({ id }) => id));
  const isOurs = ({ id }: ItemResult): boolean => typeof id !== 'string' || ids.has(id);
  return Symbol.asyncIterator in results ? filteredStream(results, isOurs) : filtered(results, isOurs);
}

function* filtered(results: Iterable<ItemResult>, keep: (item: ItemResult) => boolean): Generator<ItemResult> {
  for (const item of results) if (keep(item)) yield item;
}

async function* filteredStream(
  results: AsyncIterable<ItemResult>,
  keep: (item: ItemResult) => boolean,
): AsyncGenerator<ItemResult> {
  for await (const item of results) if (keep(item)) yield item;
}

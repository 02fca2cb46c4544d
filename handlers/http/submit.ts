import { HaltError, RejectedError } from '../errors';
import { cutText, describeThrown, show } from '../text';
import { TRACEPARENT } from '../tracing/traceparent';
import type { Batch, CallContext, HoldScope, SubmitAnswer } from '../contract';
import { parseJson, readEvidence } from './body';
import type { Conditions } from './cel/conditions';
import type { FollowUps } from './followUps';
import { readPath } from './path';
import type { StatusTable } from './patterns';
import { errorText, isSuccess, readItems, readJson, unreadable } from './read';
import type { RequestPlan } from './request';
import type { ResponsePlan } from './response';
import { retryAfterMs } from './retryAfter';
import type { Judgement, Verdict } from './statusCodes';
import { judgementOf, verdictOf } from './statusCodes';
import type { IncomingAnswer, Transport } from './transport';

/** Everything that a call needs besides the batch. */
export interface SubmitPlan {
  readonly request: RequestPlan;
  readonly response: ResponsePlan;
  readonly accepted: FollowUps['accepted'];
  readonly answers: StatusTable<Verdict>;
  /** What is said of an answer above 399 before its status is looked at. */
  readonly conditions: Conditions<Verdict> | undefined;
  /** What waits after a 425, 429 or 503. */
  readonly refused: HoldScope;
  readonly maxBytes: number | undefined;
  readonly maxResponseBytes: number;
}

/**
 * Encodes the call. Throws `RejectedError` if it is too large or lacks a value: nothing was sent
 * then, and bisecting finds the task.
 */
export function encodeCall(
  plan: SubmitPlan,
  batch: Batch,
  idempotencyKey: string,
  callbackUrl?: string,
): { method: string; url: string; body: string } {
  const { request, maxBytes } = plan;
  const body = request.body.encode(batch, idempotencyKey, callbackUrl);
  const bytes = Buffer.byteLength(body);
  if (maxBytes !== undefined && bytes > maxBytes) {
    throw new RejectedError(
      `not sent: expected at most ${maxBytes} bytes (limits.maxBytes) of the encoded call, got ${bytes}`,
    );
  }
  return { method: request.method, url: request.url.render({ target: batch.target, batchId: batch.id }), body };
}

/**
 * Makes the call and returns its answer. Throws a plain Error for an answer that cannot be read,
 * which is an unknown outcome.
 */
export async function submit(
  plan: SubmitPlan,
  transport: Transport,
  batch: Batch,
  context: CallContext,
): Promise<SubmitAnswer> {
  const { headers, keyHeader } = plan.request;
  const key = keyHeader === undefined ? {} : { [keyHeader]: context.idempotencyKey };
  const callback = callbackOf(plan.request, context.callbackUrl);
  const call = encodeCall(plan, batch, context.idempotencyKey, context.callbackUrl);
  const trace: Record<string, string> = context.traceparent === undefined ? {} : { [TRACEPARENT]: context.traceparent };
  const sent = { ...trace, ...headers.sent, ...key, ...callback };
  const answer = await transport.send({ ...call, headers: sent, signal: context.signal });
  if (isSuccess(answer)) return await readSuccess(plan, answer, batch.tasks.length);
  const evidence = await readEvidence(answer.body);
  const error = errorText(answer, evidence, headers.secrets);
  const judgement = judge(plan, answer.statusCode, evidence, error);
  switch (judgement.verdict) {
    case 'later':
      return { status: 'later', retryAfterMs: retryAfterMs(answer.headers, Date.now()), scope: plan.refused, error };
    case 'rejected':
      return { status: 'rejected', error };
    case 'halt':
      throw new HaltError(error, { scope: judgement.scope });
    case 'unknown':
      throw new Error(error);
  }
}

/** Judges an answer by the conditions first. Throws an Error for one that cannot be evaluated. */
function judge(
  { conditions, answers, request }: SubmitPlan,
  status: number,
  evidence: Buffer,
  error: string,
): Judgement {
  const chosen = status < 400 ? undefined : conditionOf(conditions, status, evidence, error);
  if (chosen !== undefined) return judgementOf(chosen);
  return verdictOf(status, answers, request.url.roots.has('target'));
}

function conditionOf(
  conditions: SubmitPlan['conditions'],
  status: number,
  evidence: Buffer,
  error: string,
): Verdict | undefined {
  if (conditions === undefined) return undefined;
  const parsed = parseJson(evidence);
  try {
    return conditions.find({ status: BigInt(status), body: 'problem' in parsed ? null : parsed.value });
  } catch (cause) {
    throw new Error(cutText(`${error}; ${describeThrown(cause)}`), { cause });
  }
}

/**
 * Returns the header with the callback URL, if one is configured. Throws `HaltError` if the request
 * needs a URL and there is none: nothing is sent, since no task is at fault.
 */
function callbackOf({ callbackHeader, body }: RequestPlan, url: string | undefined): Record<string, string> {
  if (url !== undefined) return callbackHeader === undefined ? {} : { [callbackHeader]: url };
  if (callbackHeader === undefined && !body.needsCallback) return {};
  throw new HaltError(
    'not sent: the request carries a callback URL, and this worker has none; start it with --callback-port or MUSTER_CALLBACK_URL, and MUSTER_CALLBACK_SECRET',
  );
}

async function readSuccess(plan: SubmitPlan, answer: IncomingAnswer, members: number): Promise<SubmitAnswer> {
  const { response, accepted, maxResponseBytes, request } = plan;
  const reader = { response, maxResponseBytes, secrets: request.headers.secrets };
  if (accepted?.status !== answer.statusCode) return { results: await readItems(reader, answer, members) };
  const value = await readJson(reader, answer);
  const reference = readPath(value, accepted.reference);
  if (typeof reference === 'string' || typeof reference === 'number')
    return { status: 'accepted', reference: String(reference) };
  const at = accepted.reference.join('.');
  throw unreadable(
    answer,
    `expected a reference at ${at}, got ${show(reference)} in ${show(value, 500)}`,
    reader.secrets,
  );
}

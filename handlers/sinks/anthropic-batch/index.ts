import { z } from 'zod';
import type { Batch, CallContext, CancelAnswer, ReferenceStatus, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import { readLines } from '../../http/body';
import { isSuccess, readJson } from '../../http/read';
import { show } from '../../text';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import { ANSWER_BYTES_MAX, HttpCaller, NOT_FOUND } from '../http/caller';
import { BATCH_DEADLINE_MS, statusesOf } from '../http/statuses';
import type { SinkOptions, UnknownOptions } from '../options';
import { settingsOf } from '../options';
import type { ResultLine } from './results';
import { lineResult } from './results';
import { anthropicWire } from './wire';

export type { SinkOptions, UnknownOptions } from '../options';

/** The parameters of one message, as the Messages API takes them. */
export interface MessageRequest extends Record<string, unknown> {
  /** The model, which is the target. */
  model: string;
  max_tokens: number;
  messages: Record<string, unknown>[];
}

/** Options of `anthropicBatchSink`. */
export interface AnthropicBatchSinkOptions extends SinkOptions, UnknownOptions {
  apiKey: string;
  /** Default `https://api.anthropic.com`. */
  url?: string;
  /** Most bytes of a batch, which is in memory while it is sent; default 256,000,000. */
  maxBytes?: number;
  /** Milliseconds between two questions for a batch; default 60,000. */
  everyMs?: number;
}

/** docs.anthropic.com/en/docs/build-with-claude/batch-processing: 100,000 requests or 256 MB. */
const ITEMS_MAX = 100_000;
const BYTES_MAX = 256_000_000;
/** What stands around the parameters of a request, and around all requests. */
const FRAME_BYTES = 60;
const OVERHEAD_BYTES = 20;
const EVERY_MS = 60_000;
/** Time to send the largest batch. */
const TIMEOUT_MS = 600_000;
/** As many as the results of one batch may have in Muster. */
const RESULTS_BYTES_MAX = 1_000_000_000;
const VERSION = '2023-06-01';
const PATH = '/v1/messages/batches';

const schema: z.ZodType<MessageRequest, MessageRequest> = z.looseObject({
  model: z.string().min(1).max(256),
  max_tokens: z.number().int().min(1),
  messages: z.array(z.record(z.string(), z.unknown())).min(1),
});

/**
 * Returns a handler for the Message Batches API: accepted now, answered within 24 hours. The API
 * takes no key and keeps no mark of ours, so that a create whose answer was lost cannot be found:
 * it is parked, or sent again (and paid twice) if `onUnknown` says so. Needs no package.
 */
export function anthropicBatchSink(options: AnthropicBatchSinkOptions): Handler<MessageRequest> {
  const { apiKey, url = 'https://api.anthropic.com', everyMs = EVERY_MS, onUnknown } = options;
  const headers = { 'x-api-key': apiKey, 'anthropic-version': VERSION };
  // 529: overloaded_error, docs.anthropic.com/en/api/errors.
  const caller = new HttpCaller({ url, headers, secrets: [apiKey], verdicts: { 529: 'later' }, scope: 'handler' });
  return defineHandler<MessageRequest>({
    description: 'Anthropic Message Batches',
    ...settingsOf(options),
    timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
    schema,
    target: ({ model }) => model,
    bytesOf: (payload) => Buffer.byteLength(JSON.stringify(payload)) + FRAME_BYTES,
    limits: {
      maxItems: ITEMS_MAX,
      maxBytes: Math.min(options.maxBytes ?? BYTES_MAX, BYTES_MAX),
      overheadBytes: OVERHEAD_BYTES,
    },
    poll: { everyMs, deadlineMs: BATCH_DEADLINE_MS },
    onUnknown,
    submit: (batch, context) => create(caller, batch, context),
    status: (references, { signal }) => statusesOf(references, (reference) => ask(caller, reference, signal)),
    results: (reference, { signal }) => results(caller, reference, signal),
    cancel: (reference, { signal }) => cancel(caller, reference, signal),
    trial: () => trialOf(options),
  });
}

const trialOf = (options: AnthropicBatchSinkOptions): Trial<Handler> => ({
  at: (url) => anthropicBatchSink({ ...options, url, apiKey: 'local' }),
  payload: (content) => ({ model: 'certified', max_tokens: 1, messages: [{ role: 'user', content }] }),
  wire: () => anthropicWire(ITEMS_MAX, BYTES_MAX),
});

const json = (caller: HttpCaller) => ({ maxResponseBytes: ANSWER_BYTES_MAX, secrets: caller.secrets });
const pathOf = (reference: string): string => `${PATH}/${encodeURIComponent(reference)}`;

/** A custom_id has few characters, and a task's id may be anything: it is the task's place. */
async function create(
  caller: HttpCaller,
  { tasks }: Batch<MessageRequest>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const requests = tasks.map(({ payload }, place) => ({ custom_id: String(place), params: payload }));
  const answer = await caller.call({
    method: 'POST',
    path: PATH,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ requests }),
    signal,
  });
  const { id } = ((await readJson(json(caller), answer)) ?? {}) as { id?: unknown };
  if (typeof id !== 'string') throw new Error(`unreadable answer: expected the id of a batch, got ${show(id)}`);
  return { status: 'accepted', reference: id };
}

async function ask(caller: HttpCaller, reference: string, signal: AbortSignal): Promise<ReferenceStatus> {
  const answer = await caller.send({ method: 'GET', path: pathOf(reference), signal });
  if (answer.statusCode === NOT_FOUND) return { reference, status: 'lost', error: 'the API knows no such batch' };
  if (!isSuccess(answer)) return { reference, status: 'pending', error: `HTTP ${answer.statusCode}` };
  const { processing_status: state } = ((await readJson(json(caller), answer)) ?? {}) as {
    processing_status?: unknown;
  };
  return { reference, status: state === 'ended' ? 'done' : 'pending' };
}

async function* results(caller: HttpCaller, reference: string, signal: AbortSignal) {
  const answer = await caller.call({ method: 'GET', path: `${pathOf(reference)}/results`, signal });
  for await (const line of readLines(answer.body, RESULTS_BYTES_MAX)) yield lineResult(line as ResultLine);
}

async function cancel(caller: HttpCaller, reference: string, signal: AbortSignal): Promise<CancelAnswer> {
  const answer = await caller.send({ method: 'POST', path: `${pathOf(reference)}/cancel`, signal });
  if (isSuccess(answer)) return { status: 'cancelled' };
  const error = `HTTP ${answer.statusCode}`;
  if (answer.statusCode === NOT_FOUND || answer.statusCode === 400) return { status: 'late', error };
  throw new Error(error);
}

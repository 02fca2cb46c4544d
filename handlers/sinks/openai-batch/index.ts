import { z } from 'zod';
import type { Batch, BatchTask, CallContext, ReconcileAnswer, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import { LaterError } from '../../errors';
import { isDeclared } from '../../thrown';
import { describeThrown } from '../../text';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import { HttpCaller } from '../http/caller';
import { BATCH_DEADLINE_MS, statusesOf } from '../http/statuses';
import type { SinkOptions } from '../options';
import { settingsOf } from '../options';
import { OpenaiApi } from './api';
import type { OutputLine } from './results';
import { batchStatus, outputResult } from './results';
import { openaiWire } from './wire';

export type { SinkOptions } from '../options';

/** The body of one request, as its endpoint takes it. */
export interface OpenaiRequest extends Record<string, unknown> {
  /** The model, which is the target: the API takes one model per batch. */
  model: string;
}

/** Options of `openaiBatchSink`. */
export interface OpenaiBatchSinkOptions extends SinkOptions {
  apiKey: string;
  /** What each request is sent to, such as `/v1/chat/completions`, the default. */
  endpoint?: string;
  /** Default `https://api.openai.com`; without `/v1`. */
  url?: string;
  /** Most tokens in batches that have not ended, per model: the budget of the account's tier. */
  maxTokensInFlight?: number;
  /** Most bytes of a batch, which is in memory while it is sent; default 200,000,000. */
  maxBytes?: number;
  /** Milliseconds between two questions for a batch; default 60,000. */
  everyMs?: number;
  /**
   * Milliseconds after which a batch that is not listed was not created; default 120,000, since the
   * list may lag.
   */
  absentAfterMs?: number;
}

/** platform.openai.com/docs/api-reference/batch/create: 50,000 requests, 200 MB. */
const REQUESTS_MAX = 50_000;
const FILE_BYTES_MAX = 200_000_000;
/** What stands around the lines in the upload. */
const OVERHEAD_BYTES = 1_000;
const ENDPOINT = '/v1/chat/completions';
const ASK_EVERY_MS = 60_000;
const ABSENT_AFTER_MS = 120_000;
/** An earlier batch is looked for as long as it can have been created. */
const LOOK_BACK_S = 48 * 3_600;
const UPLOAD_MS = 600_000;
const CHARACTERS_PER_TOKEN = 4;
const KEY = 'muster_key';

const schema: z.ZodType<OpenaiRequest, OpenaiRequest> = z.looseObject({ model: z.string().min(1).max(256) });

/**
 * Returns a handler for OpenAI's batch API and those like it: accepted now, answered within 24
 * hours. The API takes no key, so the key travels in the batch's metadata, by which a create whose
 * answer was lost is looked up. Needs no package.
 */
export function openaiBatchSink(options: OpenaiBatchSinkOptions): Handler<OpenaiRequest> {
  const { apiKey, endpoint = ENDPOINT, url = 'https://api.openai.com', maxTokensInFlight } = options;
  const headers = { authorization: `Bearer ${apiKey}` };
  const api = new OpenaiApi(new HttpCaller({ url, headers, secrets: [apiKey], scope: 'handler' }));
  return defineHandler<OpenaiRequest>({
    description: 'OpenAI batches',
    ...settingsOf(options),
    timeoutMs: options.timeoutMs ?? UPLOAD_MS,
    schema,
    target: ({ model }) => model,
    bytesOf: (payload, id) => Buffer.byteLength(lineOf({ id, payload }, endpoint)),
    weightOf: estimatedTokens,
    limits: {
      maxItems: REQUESTS_MAX,
      maxBytes: Math.min(options.maxBytes ?? FILE_BYTES_MAX, FILE_BYTES_MAX),
      overheadBytes: OVERHEAD_BYTES,
      ...(maxTokensInFlight === undefined
        ? {}
        : { maxWeight: maxTokensInFlight, maxWeightInFlight: { perTarget: maxTokensInFlight } }),
    },
    poll: { everyMs: options.everyMs ?? ASK_EVERY_MS, deadlineMs: BATCH_DEADLINE_MS },
    absentAfterMs: options.absentAfterMs ?? ABSENT_AFTER_MS,
    submit: (batch, context) => create(api, endpoint, batch, context),
    status: (references, { signal }) =>
      statusesOf(references, async (reference) => batchStatus(reference, await api.get(reference, signal))),
    results: (reference, { signal }) => results(api, reference, signal),
    cancel: async (reference, { signal }) =>
      (await api.cancel(reference, signal)) ? { status: 'cancelled' } : { status: 'late' },
    reconcile: (_batch, context) => find(api, context),
    trial: () => trialOf(options),
  });
}

const trialOf = (options: OpenaiBatchSinkOptions): Trial<Handler> => ({
  at: (url) => openaiBatchSink({ ...options, url, apiKey: 'local' }),
  payload: (content) => ({ model: 'certified', messages: [{ role: 'user', content }] }),
  wire: () => openaiWire(REQUESTS_MAX, FILE_BYTES_MAX),
});

const lineOf = ({ id, payload }: Pick<BatchTask<OpenaiRequest>, 'id' | 'payload'>, url: string): string =>
  `${JSON.stringify({ custom_id: id, method: 'POST', url, body: payload })}\n`;

/** Returns about how many tokens a request takes, with the most that its answer may have. */
function estimatedTokens(request: OpenaiRequest): number {
  const most = request['max_completion_tokens'] ?? request['max_tokens'];
  return Math.ceil(JSON.stringify(request).length / CHARACTERS_PER_TOKEN) + (typeof most === 'number' ? most : 0);
}

async function create(
  api: OpenaiApi,
  endpoint: string,
  { id, tasks }: Batch<OpenaiRequest>,
  { signal, idempotencyKey }: CallContext,
): Promise<SubmitAnswer> {
  const lines = tasks.map((task) => lineOf(task, endpoint)).join('');
  const fileId = await api.upload(lines, signal).catch((error: unknown) => {
    // A file by itself runs nothing: whatever became of the upload, it may be made again.
    throw isDeclared(error) ? error : new LaterError(`the upload failed: ${describeThrown(error)}`);
  });
  const metadata = { [KEY]: idempotencyKey, muster_batch: id };
  const wanted = { input_file_id: fileId, endpoint, completion_window: '24h', metadata };
  return { status: 'accepted', reference: (await api.create(wanted, signal)).id };
}

async function find(api: OpenaiApi, { signal, idempotencyKey }: CallContext): Promise<ReconcileAnswer> {
  for await (const batch of api.list(signal)) {
    if (batch.metadata?.[KEY] === idempotencyKey) return { status: 'accepted', reference: batch.id };
    if (batch.created_at < Date.now() / 1_000 - LOOK_BACK_S) break;
  }
  return { status: 'absent' };
}

/** Yields the results of both files: answered requests, then refused and unfinished ones. */
async function* results(api: OpenaiApi, reference: string, signal: AbortSignal) {
  const batch = await api.get(reference, signal);
  if (batch === undefined) throw new Error(`batch ${reference}: expected it to have results, got no such batch`);
  for (const fileId of [batch.output_file_id, batch.error_file_id])
    if (fileId != null) for await (const line of api.lines(fileId, signal)) yield outputResult(line as OutputLine);
}

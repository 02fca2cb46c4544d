import { z } from 'zod';
import {
  defineHandler,
  LaterError,
  type Batch,
  type BatchTask,
  type CallContext,
  type Handler,
  type ItemResult,
  type ReconcileAnswer,
  type SubmitAnswer,
} from '../../handlers';
import { isFetchFailure } from '../support/call';
import type { ResponseLine } from './batchTypes';
import { OpenaiClient, type OpenaiOptions } from './openaiClient';
import { itemResult, referenceStatus } from './outcomes';

const ENDPOINT = '/v1/chat/completions';

export const chatPayload = z.looseObject({
  model: z.string().min(1),
  messages: z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1),
});
export type ChatPayload = z.infer<typeof chatPayload>;

/** What a line has besides the payload: its frame, and a task's id of up to 500 bytes. */
const LINE_OVERHEAD_BYTES = 600;
/** How far back an earlier call is looked for: beyond the 24 h that the API gives a batch. */
const LOOK_BACK_S = 48 * 3600;
const POLLS_AT_ONCE = 8;

/**
 * Chat completions through the batch API: half the price, answers within 24 h. Creating a batch
 * takes no idempotency key, so the key travels in the batch's metadata, and a create whose answer
 * was lost is looked up by it (H3).
 */
export function chatBatchHandler(
  options: OpenaiOptions & { absentAfterMs?: number; everyMs?: number },
): Handler<ChatPayload> {
  const client = new OpenaiClient(options);
  return defineHandler<ChatPayload>({
    name: 'chat-batch',
    description: 'OpenAI-style batches of chat completions',
    schema: chatPayload,
    // A batch has one model; the limits of an account are per model, too.
    target: (request) => request.model,
    bytesOf: (request) => Buffer.byteLength(JSON.stringify(request)) + LINE_OVERHEAD_BYTES,
    weightOf: estimatedTokens,
    limits: {
      maxItems: 50_000,
      maxBytes: 200_000_000,
      overheadBytes: 1_000,
      // The enqueued-token budget of the account's tier, per model (H6).
      maxWeight: 20_000_000,
      maxWeightInFlight: { perTarget: 40_000_000 },
    },
    linger: { lingerMs: 60_000, quietPeriodMs: 5_000 },
    // An upload of 200 MB takes its time.
    timeoutMs: 600_000,
    idempotency: 'none',
    onUnknown: 'park',
    poll: { everyMs: options.everyMs ?? 30_000, deadlineMs: 26 * 3600 * 1000 },
    // A list may lag behind a create: a batch younger than this that is not listed may still
    // appear.
    absentAfterMs: options.absentAfterMs ?? 120_000,
    submit: (batch, context) => submitBatch(client, batch, context),
    status: (references, { signal }) => statuses(client, references, signal),
    results: (reference, { signal }) => results(client, reference, signal),
    cancel: (reference, { signal }) => client.cancelBatch(reference, signal),
    reconcile: (_batch, context) => findBatch(client, context),
  });
}

/** About four characters a token, plus what the answer may take. */
export function estimatedTokens(request: ChatPayload): number {
  const characters = request.messages.reduce((sum, message) => sum + message.content.length, 0);
  return Math.ceil(characters / 4) + (typeof request['max_tokens'] === 'number' ? request['max_tokens'] : 256);
}

function* requestLines(tasks: readonly BatchTask<ChatPayload>[]): Generator<string> {
  for (const task of tasks) {
    yield `${JSON.stringify({ custom_id: task.id, method: 'POST', url: ENDPOINT, body: task.payload })}\n`;
  }
}

async function submitBatch(
  client: OpenaiClient,
  batch: Batch<ChatPayload>,
  { signal, idempotencyKey }: CallContext,
): Promise<SubmitAnswer> {
  const fileId = await client.uploadFile(requestLines(batch.tasks), signal).catch((error: unknown) => {
    // A file by itself runs nothing: whatever became of the upload, it may be made again.
    throw isFetchFailure(error) ? new LaterError(`upload: ${String((error as Error).cause)}`) : error;
  });
  const created = await client.createBatch(
    {
      input_file_id: fileId,
      endpoint: ENDPOINT,
      completion_window: '24h',
      metadata: { muster_key: idempotencyKey, muster_batch: batch.id },
    },
    signal,
  );
  return { status: 'accepted', reference: created.id };
}

async function findBatch(client: OpenaiClient, { signal, idempotencyKey }: CallContext): Promise<ReconcileAnswer> {
  for await (const batch of client.listBatches(signal)) {
    if (batch.metadata['muster_key'] === idempotencyKey) {
      return { status: 'accepted', reference: batch.id };
    }
    if (batch.created_at < Date.now() / 1000 - LOOK_BACK_S) {
      break;
    }
  }
  return { status: 'absent' };
}

/** The API has no call for many batches, so a few at a time are asked for one by one. */
async function statuses(client: OpenaiClient, references: readonly string[], signal: AbortSignal) {
  const answers: ReturnType<typeof referenceStatus>[] = [];
  for (let start = 0; start < references.length; start += POLLS_AT_ONCE) {
    const some = references.slice(start, start + POLLS_AT_ONCE);
    const batches = await Promise.all(some.map((reference) => client.getBatch(reference, signal)));
    answers.push(...some.map((reference, index) => referenceStatus(reference, batches[index])));
  }
  return answers;
}

/**
 * Finished requests are in the output file, refused and unfinished ones in the error file; either
 * may be missing.
 */
async function* results(client: OpenaiClient, reference: string, signal: AbortSignal): AsyncGenerator<ItemResult> {
  const batch = await client.getBatch(reference, signal);
  if (batch === undefined) {
    throw new Error(`batch ${reference}: expected it to have results, got no such batch`);
  }
  for (const fileId of [batch.output_file_id, batch.error_file_id]) {
    if (fileId !== null) {
      for await (const line of client.fileLines(fileId, signal)) {
        yield itemResult(JSON.parse(line) as ResponseLine);
      }
    }
  }
}

import { z } from 'zod';
import type { Batch, BatchTask, CallContext, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import { readJson } from '../../http/read';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import { HttpCaller } from '../http/caller';
import type { SinkOptions } from '../options';
import { settingsOf } from '../options';
import { bulkResults } from './results';
import { opensearchWire } from './wire';

export type { SinkOptions } from '../options';

/** A document to index, or to delete. */
export interface IndexedDocument {
  /** The index, which is the target. */
  index: string;
  /** Default: the task's id. At most 512 bytes. */
  id?: string;
  /** The document, which replaces the one of the same id. Left out: that is deleted. */
  document?: Record<string, unknown>;
  routing?: string;
}

/** Options of `opensearchSink`. */
export interface OpensearchSinkOptions extends SinkOptions {
  /** The address of the cluster, such as `https://search.example.com:9200`. */
  url: string;
  /** Headers of every call, such as `authorization`. Their values are in no error. */
  headers?: Record<string, string>;
  /**
   * Most bytes of a call. Default 10 MiB, which the smallest AWS domains take; at most 100 MiB
   * (`http.max_content_length`).
   */
  maxBytes?: number;
}

/**
 * docs.aws.amazon.com/opensearch-service/latest/developerguide/limits.html: 10 MiB for the smallest
 * instances, 100 MiB for others, which is also the default of `http.max_content_length`. _bulk has
 * no limit of items.
 */
const BYTES_DEFAULT = 10_485_760;
const BYTES_MAX = 104_857_600;
const ITEMS_MAX = 1_000;
const ANSWER_BYTES_MAX = 67_108_864;
const NDJSON = 'application/x-ndjson';

const schema: z.ZodType<IndexedDocument, IndexedDocument> = z.strictObject({
  index: z.string().regex(/^[^A-Z\s"*+/\\|?#><,:_-][^A-Z\s"*+/\\|?#><,:]{0,254}$/, 'expected the name of an index'),
  id: z
    .string()
    .min(1)
    .refine((id) => Buffer.byteLength(id) <= 512, 'expected at most 512 bytes')
    .optional(),
  document: z.record(z.string(), z.unknown()).optional(),
  routing: z.string().min(1).optional(),
});

/**
 * Returns a handler that indexes and deletes documents with `_bulk` of OpenSearch and alike. A
 * document has its own id or the task's as `_id`, so that it may be indexed again, as what is
 * unknown is. Needs no package.
 */
export function opensearchSink(options: OpensearchSinkOptions): Handler<IndexedDocument> {
  const { url, headers = {}, maxBytes = BYTES_DEFAULT } = options;
  const caller = new HttpCaller({ url, headers, secrets: Object.values(headers), scope: 'handler' });
  return defineHandler<IndexedDocument>({
    description: 'OpenSearch _bulk',
    ...settingsOf(options),
    schema,
    target: ({ index }) => index,
    bytesOf: (payload, id) => Buffer.byteLength(linesOf({ id, payload })),
    limits: { maxItems: ITEMS_MAX, maxBytes: Math.min(maxBytes, BYTES_MAX) },
    maxPayloadBytes: BYTES_DEFAULT,
    idempotency: { by: 'task' },
    submit: (batch, context) => send(caller, batch, context),
    trial: () => trialOf(options),
  });
}

const trialOf = (options: OpensearchSinkOptions): Trial<Handler> => ({
  at: (url) => opensearchSink({ ...options, url }),
  payload: (text) => ({ index: 'certified', document: { text } }),
  wire: () => opensearchWire(ITEMS_MAX, BYTES_MAX),
});

/** Returns the lines of one document: the action, and what is indexed. */
function linesOf({ id, payload }: Pick<BatchTask<IndexedDocument>, 'id' | 'payload'>): string {
  const { index, id: own = id, document, routing } = payload;
  const action = { [document === undefined ? 'delete' : 'index']: { _index: index, _id: own, routing } };
  return `${JSON.stringify(action)}\n${document === undefined ? '' : `${JSON.stringify(document)}\n`}`;
}

async function send(
  caller: HttpCaller,
  { tasks }: Batch<IndexedDocument>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const body = tasks.map(linesOf).join('');
  const answer = await caller.call({
    method: 'POST',
    path: '/_bulk',
    headers: { 'content-type': NDJSON },
    body,
    signal,
  });
  const value = await readJson({ maxResponseBytes: ANSWER_BYTES_MAX, secrets: caller.secrets }, answer);
  return { results: bulkResults(value, tasks.length) };
}

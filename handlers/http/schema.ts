import { z } from 'zod';
import { either, flag, oneOf, settings, text, whole } from '../checks';
import { commonShape } from '../settings';
import { HOLD_SCOPES, ITEM_STATUSES } from '../contract';

/**
 * The schema of an HTTP handler's JSON. The `compile` functions check what concerns the
 * environment, templates, or several settings at once.
 */

const path = () => text('a path such as customer.id or /customer/id', () => true);
const url = () => text('an absolute http:// or https:// URL', () => true);
const headers = z
  .record(z.string(), z.unknown(), { error: 'expected an object of header names and values' })
  .optional();
const status = () =>
  z.custom<string | number>(
    (v) => (typeof v === 'string' && v !== '') || Number.isSafeInteger(v) || typeof v === 'boolean',
    {
      error: "expected a status: a number, text, or a class such as '4xx'",
    },
  );
const cel = settings({ cel: text('an expression in CEL, of at least 1 character', (v) => v !== '') });
type Cel = z.infer<typeof cel>;
const isObject = (v: unknown): v is object => typeof v === 'object' && v !== null && !Array.isArray(v);
const isCel = (v: unknown): boolean => isObject(v) && !('constant' in v);
/** A list, or a condition in CEL. */
const orCel = <T>(list: z.ZodType<T>) => either<T | Cel>((v) => (isObject(v) ? cel : list));
const statuses = () =>
  orCel(z.array(status(), { error: 'expected an array of statuses, or {"cel": "..."}' })).optional();
const errorStatus = () =>
  z.array(
    z.custom<string | number>((v) => /^[45](\d\d|xx)$/i.test(String(v)), {
      error: "expected an HTTP status from 400 to 599, '4xx' or '5xx'",
    }),
    { error: 'expected an array of HTTP statuses' },
  );
const errorStatuses = () => orCel(errorStatus()).optional();

/** Where the results are in an answer, and how to read a result. */
const response = settings({
  /**
   * False: the answer says nothing about single items, and 2xx means that all of them succeeded.
   */
  perItem: flag().optional(),
  decode: oneOf(['json', 'ndjson']).optional(),
  results: path().optional(),
  matchBy: oneOf(['id', 'position']).optional(),
  id: path().optional(),
  status: settings({
    path: path().optional(),
    ok: statuses(),
    retry: statuses(),
    failed: statuses(),
    unknown: statuses(),
    otherwise: oneOf(ITEM_STATUSES).optional(),
  }).optional(),
  error: path().optional(),
  /** What is kept as a task's result; default: the whole item; false: nothing. */
  result: either<string | false>((v) =>
    v === false ? z.literal(false) : text('a path, or false to keep nothing', () => true),
  ).optional(),
});

const pathOrTemplate = () =>
  text('a path such as order.id, or a template such as "order-{{payload.order.id}}"', () => true);
const keys = () =>
  z
    .array(
      either<string | Cel>((v) => (isObject(v) ? cel : pathOrTemplate())),
      { error: 'expected an array of paths, templates or expressions' },
    )
    .optional();
const pathOrCel = () => either<string | Cel>((v) => (isObject(v) ? cel : path())).optional();

const constant = settings({ constant: text('text of 1-512 bytes', (v) => v !== '' && Buffer.byteLength(v) <= 512) });

type Constant = z.infer<typeof constant>;

export const httpSchema = settings({
  kind: z.custom<'http'>((v) => v === 'http', { error: "expected 'http'" }),
  ...commonShape,
  target: either<string | Constant | Cel>((v) => (isCel(v) ? cel : isObject(v) ? constant : path())),
  weight: pathOrCel(),
  distinctBy: pathOrCel(),
  coalesceBy: pathOrCel(),
  service: either<string | Constant | Cel>((v) =>
    isCel(v) ? cel : isObject(v) ? constant : pathOrTemplate(),
  ).optional(),
  reads: keys(),
  writes: keys(),
  schema: z
    .custom<object>((v) => typeof v === 'object' && v !== null && !Array.isArray(v), {
      error: 'expected a JSON Schema (an object)',
    })
    .optional(),
  /** A payload like those of its tasks, for `muster certify`; {{text}} in it becomes any text. */
  sample: z.unknown().optional(),
  idempotencyHeader: text('a header name', (v) => /^[A-Za-z0-9-]{1,64}$/.test(v)).optional(),
  /**
   * The header with the URL at which the downstream may report the outcome of the batch. In the
   * body, the envelope's {{callbackUrl}} has the same URL.
   */
  callbackHeader: text('a header name', (v) => /^[A-Za-z0-9-]{1,64}$/.test(v)).optional(),
  scopes: settings({ refused: oneOf(HOLD_SCOPES).optional(), unreachable: oneOf(HOLD_SCOPES).optional() }).optional(),
  timeouts: settings({
    connectMs: whole(1, 600_000, 'milliseconds').optional(),
    keepAliveMs: whole(1, 600_000, 'milliseconds').optional(),
  }).optional(),
  maxResponseBytes: whole(1, 2_147_483_647, 'bytes').optional(),
  request: settings({
    method: oneOf(['POST', 'PUT', 'PATCH', 'DELETE']).optional(),
    url: url(),
    headers,
    encode: oneOf(['json', 'ndjson']).optional(),
    item: z.unknown().optional(),
    envelope: z.unknown().optional(),
  }),
  response,
  answers: settings({
    later: errorStatuses(),
    rejected: errorStatuses(),
    halt: errorStatuses(),
    unknown: errorStatuses(),
  }).optional(),
  accepted: settings({ status: whole(200, 299, 'HTTP').optional(), reference: path() }).optional(),
  statusUrl: settings({
    url: url(),
    headers,
    status: path().optional(),
    statuses: settings({
      pending: statuses(),
      done: statuses(),
      expired: statuses(),
      failed: statuses(),
      lost: statuses(),
    }).optional(),
    error: path().optional(),
  }).optional(),
  resultsUrl: settings({ url: url(), headers, response: response.optional() }).optional(),
  cancelUrl: settings({ url: url(), headers, method: oneOf(['POST', 'PUT', 'DELETE']).optional() }).optional(),
  reconcileUrl: settings({
    url: url(),
    headers,
    status: path().optional(),
    statuses: settings({ done: statuses(), accepted: statuses(), absent: statuses(), unsure: statuses() }).optional(),
    /** HTTP statuses that say that the call never arrived. Default [404]. */
    absent: errorStatus().optional(),
    reference: path().optional(),
    response: response.optional(),
  }).optional(),
});

/** An HTTP handler as JSON. */
export type HttpHandlerConfig = z.infer<typeof httpSchema>;

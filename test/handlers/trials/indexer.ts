import { z } from 'zod';
import type { Handler, HandlerOptions, ItemResult } from '../../../handlers';
import { defineHandler, HaltError, LaterError, neverSent, RejectedError } from '../../../handlers';
import { retryAfterMs } from '../../../handlers/http/retryAfter';
import { jsonWire } from '../../../handlers/trials';

export interface City {
  country: string;
  name: string;
}
type Sent = { id: string } & City;

const MAX_ITEMS = 50;
const MAX_BYTES = 100_000;

/** The places where `indexer` can be made wrong, each with what it does when it is right. */
export interface Parts {
  bytesOf: (city: City, id: string) => number;
  /** What a 429 becomes. */
  throttled: (response: Response) => Error;
  rejected: (text: string) => Error;
  credentials: (text: string) => Error;
  unreachable: (error: unknown) => Error;
  resultOf: (item: { id: string; is: string }) => ItemResult;
  /** Reads the answer's items; throws for what is none. */
  items: (text: string) => { id: string; is: string }[];
  /** The field of the idempotency key, and the signal of the call. */
  keyOf: (id: string) => string | undefined;
  signal: (signal: AbortSignal) => AbortSignal | undefined;
  more: Partial<HandlerOptions<City>>;
}

const RIGHT: Parts = {
  bytesOf: (city, id) => Buffer.byteLength(JSON.stringify({ id, key: id, ...city })) + 1,
  throttled: ({ headers, status }) =>
    new LaterError(`busy: ${status}`, { retryAfterMs: retryAfterMs(Object.fromEntries(headers), Date.now()) }),
  rejected: (text) => new RejectedError(text),
  credentials: (text) => new HaltError(text),
  unreachable: (error) => (neverSent(error) ? new LaterError('not reachable') : (error as Error)),
  resultOf: ({ id, is }) => ({ id, status: is === 'busy' ? 'retry' : is === 'refused' ? 'failed' : 'ok', error: is }),
  items: (text) => (JSON.parse(text) as { items: { id: string; is: string }[] }).items,
  keyOf: (id) => id,
  signal: (signal) => signal,
  more: {},
};

/** A handler in code, as a user writes one, with its trial; `wrong` replaces parts of it. */
export function indexer(wrong: Partial<Parts> = {}, url = 'http://nowhere'): Handler<City> {
  const parts = { ...RIGHT, ...wrong };
  return defineHandler<City>({
    name: 'index-city',
    schema: z.object({ country: z.string(), name: z.string() }),
    target: ({ country }) => country,
    limits: { maxItems: MAX_ITEMS, maxBytes: MAX_BYTES, overheadBytes: 2 },
    bytesOf: parts.bytesOf,
    idempotency: { by: 'task' },
    submit: async ({ tasks }, { signal }) => {
      const sent = tasks.map(({ id, payload }): Sent => ({ id, key: parts.keyOf(id), ...payload }) as Sent);
      const init = { method: 'POST', body: JSON.stringify(sent), signal: parts.signal(signal) };
      const response = await fetch(`${url}/bulk`, init).catch((error: unknown) => {
        throw parts.unreachable(error);
      });
      if (response.status === 429 || response.status === 503) throw parts.throttled(response);
      const text = await response.text();
      if (response.status === 422) throw parts.rejected(text);
      if (response.status === 401 || response.status === 404) throw parts.credentials(text);
      if (response.status !== 200) throw new Error(`${response.status}: ${text}`);
      return { results: parts.items(text).map(parts.resultOf) };
    },
    trial: () => ({
      at: (address) => indexer(wrong, address),
      payload: (name) => ({ country: 'se', name }),
      wire: () =>
        jsonWire({
          maxItems: MAX_ITEMS,
          maxBytes: MAX_BYTES,
          key: (item) => (item as { key?: string }).key,
          answer: (results) => ({
            items: results.map(({ item, verdict }) => ({
              id: (item as Sent | undefined)?.id ?? 'foreign',
              is: verdict,
            })),
          }),
        }),
    }),
    ...parts.more,
  });
}

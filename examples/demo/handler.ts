import { z } from 'zod';
import { defineHandler, type Batch, type CallContext, type Handler, type SubmitAnswer } from '../../handlers';
import { call } from '../support/call';

export const cityPayload = z.object({
  name: z.string().min(1),
  country: z.string().regex(/^[A-Z]{2}$/, 'expected an ISO 3166-1 alpha-2 code such as "PT"'),
  admin: z.string(),
  feature: z.string(),
  population: z.number().int().min(0),
  latitude: z.number().min(-90).max(90),
  longitude: z.number().min(-180).max(180),
});
export type CityPayload = z.infer<typeof cityPayload>;

interface BulkAnswer {
  items: { id: string; status: number; error?: string }[];
}

/**
 * Indexes cities, one country per call. The downstream keeps the answer of every idempotency key,
 * so a call whose answer was lost is simply made again with the same key: the effect happens once
 * (H3).
 */
export function indexCityHandler(options: { url: string }): Handler<CityPayload> {
  return defineHandler<CityPayload>({
    name: 'index-city',
    description: 'bulk-indexes GeoNames cities by country',
    schema: cityPayload,
    target: (city) => city.country,
    limits: { maxItems: 500 },
    linger: { lingerMs: 2_000 },
    concurrency: { perTarget: 4, perHandler: 16 },
    idempotency: { by: 'batch' },
    submit: (batch, context) => indexCities(options.url, batch, context),
  });
}

async function indexCities(url: string, batch: Batch<CityPayload>, context: CallContext): Promise<SubmitAnswer> {
  const response = await call(`${url}/index/${encodeURIComponent(batch.target)}/_bulk`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': context.idempotencyKey },
    body: JSON.stringify({ items: batch.tasks.map((task) => ({ id: task.id, doc: task.payload })) }),
    signal: context.signal,
  });
  const answer = (await response.json()) as BulkAnswer;
  return {
    results: answer.items.map((item) =>
      item.status < 300
        ? { id: item.id, status: 'ok', result: { status: item.status } }
        : { id: item.id, status: 'failed', error: item.error },
    ),
  };
}

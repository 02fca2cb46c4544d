import { z } from 'zod';
import type { Batch, CallContext, Handler, SubmitAnswer } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { DISTINCT, KEYED, PLAIN } from '../points';

const schema = z.object({ n: z.number().int(), from: z.string() });
type Payload = z.infer<typeof schema>;

const TARGETS = 24;
const PLAIN_TARGETS = 6;
const DISTINCT_KEYS = 20;

/**
 * One with keys that the downstream honours, one without (unknowns are parked, never sent twice),
 * one with distinct keys besides.
 */
export const chaosHandlers = (downstream: string, worker: number): Handler[] => {
  const common = {
    schema,
    limits: { maxItems: 20 },
    linger: { lingerMs: 300 },
    // A mark lasts this and 10 s more: what a killed worker held is taken up after it.
    timeoutMs: 2_000,
    retry: { delayed: { baseMs: 200, maxMs: 2_000 }, maxAttempts: 50 },
  };
  const submit = (batch: Batch<Payload>, context: CallContext): Promise<SubmitAnswer> =>
    call(downstream, worker, batch, context);
  return [
    defineHandler<Payload>({
      ...common,
      name: KEYED,
      target: ({ n }) => `t${n % TARGETS}`,
      idempotency: { by: 'batch' },
      submit,
    }),
    defineHandler<Payload>({
      ...common,
      name: PLAIN,
      target: ({ n }) => `p${Math.floor(n / 10) % PLAIN_TARGETS}`,
      idempotency: 'none',
      onUnknown: 'park',
      leaders: 2,
      submit,
    }),
    defineHandler<Payload>({
      ...common,
      name: DISTINCT,
      target: ({ n }) => `d${Math.floor(n / 10) % 4}`,
      distinctBy: ({ n }) => `k${Math.floor(n / 40) % DISTINCT_KEYS}`,
      idempotency: { by: 'batch' },
      leaders: 1,
      submit,
    }),
  ] as Handler[];
};

/**
 * Batches of the handler with distinct keys that this process called: what is freed after their
 * settle is a separate statement.
 */
export const distinctBatches = new Set<number>();

const call = async (
  url: string,
  worker: number,
  batch: Batch<Payload>,
  context: CallContext,
): Promise<SubmitAnswer> => {
  if (batch.handler === DISTINCT) distinctBatches.add(Number(batch.id));
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-worker': `${worker}` },
    body: JSON.stringify({
      handler: batch.handler,
      batch: batch.id,
      attempt: batch.attempt,
      ...(batch.handler === PLAIN ? {} : { key: context.idempotencyKey }),
      tasks: batch.tasks.map(({ id, payload }) => ({ id, n: payload.n, from: payload.from })),
    }),
    signal: context.signal,
  });
  if (!response.ok) throw new Error(`downstream: ${response.status}`);
  const { results } = (await response.json()) as { results: { id: string; status: 'ok' }[] };
  return { results };
};

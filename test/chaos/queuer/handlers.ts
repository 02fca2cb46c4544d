import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type {
  Batch,
  CallContext,
  Handler,
  ItemResult,
  LaneRules,
  ReferenceStatus,
  SubmitAnswer,
} from '../../../handlers';
import { defineHandler, LaterError } from '../../../handlers';

const schema = z.object({ service: z.string(), n: z.number().int() });
type Payload = z.infer<typeof schema>;

/**
 * One that answers with results, one that accepts and is asked. A service belongs to one of them
 * for good.
 */
export const ANSWERING = 'chaos-answering';
export const ACCEPTING = 'chaos-accepting';
export const serviceOf = (lane: number): string => `${lane % 2 === 0 ? 'answering' : 'accepting'}-${lane}`;
export const handlerOf = (lane: number): string => (lane % 2 === 0 ? ANSWERING : ACCEPTING);

const THINKS_MS = 200;
const DEAF_MS = 30_000;

/** Serial lanes: the next batch only after the one before was applied. */
export const laneHandlers = (downstream: string, worker: number, partitions: number): Handler[] => {
  const lane: Partial<LaneRules> = { approach: 'serial' };
  const common = {
    schema,
    target: ({ service }: Payload) => service,
    lane,
    limits: { maxItems: 20 },
    // Until then nobody else may take up a call whose worker died.
    timeoutMs: 2_000,
    idempotency: { by: 'batch' as const },
    retry: { delayed: { baseMs: 200, maxMs: 2_000 } },
    ...(partitions === 0 ? {} : { affinity: { partitions } }),
  };
  const submit = async (batch: Batch<Payload>, context: CallContext): Promise<SubmitAnswer> => {
    // In partitions: marked and not yet sent, and deaf to whoever stops it. One that is frozen
    // there sends when it wakes, and only its epoch says that it is too late.
    if (partitions > 0) await sleep(THINKS_MS * Math.random());
    const signal = partitions > 0 ? AbortSignal.timeout(DEAF_MS) : context.signal;
    const body = {
      service: batch.target,
      attempt: batch.attempt,
      ids: batch.tasks.map(({ id }) => id),
      accept: batch.handler === ACCEPTING,
      key: context.idempotencyKey,
      fence: batch.partition ?? null,
    };
    return (await post(`${downstream}/batches`, worker, body, signal)) as SubmitAnswer;
  };
  return [
    defineHandler<Payload>({ ...common, name: ANSWERING, submit }),
    defineHandler<Payload>({
      ...common,
      name: ACCEPTING,
      submit,
      poll: { everyMs: 50, deadlineMs: 30_000 },
      status: async (references, { signal }) =>
        (await post(`${downstream}/status`, worker, { references }, signal)) as ReferenceStatus[],
      results: async (reference, { signal }) =>
        (await post(`${downstream}/results`, worker, { reference }, signal)) as ItemResult[],
    }),
  ] as Handler[];
};

const post = async (url: string, worker: number, body: object, signal: AbortSignal): Promise<unknown> => {
  const headers = { 'content-type': 'application/json', 'x-worker': `${worker}` };
  let response: Response;
  try {
    response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  } catch (error) {
    if (((error as Error).cause as { code?: string } | undefined)?.code === 'ECONNREFUSED')
      throw new LaterError('the downstream is not there');
    throw error;
  }
  if (response.status === 409) throw new LaterError('another node holds the partition');
  if (!response.ok) throw new Error(`downstream: ${response.status}`);
  return response.json();
};

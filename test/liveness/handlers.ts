import { setTimeout as sleep } from 'node:timers/promises';
import type {
  Batch,
  CallContext,
  Handler,
  HandlerOptions,
  ItemResult,
  ReferenceStatus,
  SubmitAnswer,
} from '../../handlers';
import { defineHandler } from '../../handlers';
import { ACCEPTED, HERD, LANE, LANE_ACCEPTED, PLACED, PLAIN } from './movers';

/**
 * The handlers of the workers and of the clients: each kind of thing that has to go on. Nothing of
 * them waits long by itself.
 */

export interface Payload {
  key: string;
  n: number;
}
export interface HandlerSettings {
  downstream: string;
  /** Of the herd. */
  leaders: number;
}
/** A call of the herd takes so long: what is killed has some in its hands. */
const HERD_CALL_MS = 200;
/** Above any fault here: a batch is asked about until it ends, none is parked. */
const DEADLINE_MS = 3_600_000;

export const livenessHandlers = ({ downstream, leaders }: HandlerSettings): Handler[] => {
  const submit = async (batch: Batch<Payload>, context: CallContext): Promise<SubmitAnswer> => {
    if (batch.handler === HERD) await sleep(HERD_CALL_MS);
    const tasks = batch.tasks.map(({ id, payload }) => ({ id, n: payload.n }));
    const body = { handler: batch.handler, target: batch.target, key: context.idempotencyKey, tasks };
    return (await post(`${downstream}/submit`, body, context.signal)) as SubmitAnswer;
  };
  const common = {
    target: ({ key }: Payload) => key,
    limits: { maxItems: 20 },
    linger: { lingerMs: 100 },
    timeoutMs: 10_000,
    idempotency: { by: 'batch' as const },
    // The downstream honours its keys.
    onUnknown: 'resend' as const,
    retry: { delayed: { baseMs: 200, maxMs: 2_000 }, maxAttempts: 1_000 },
    submit,
  };
  const accepting: Partial<HandlerOptions<Payload>> = {
    poll: { everyMs: 500, deadlineMs: DEADLINE_MS, idleMs: 5_000 },
    status: async (references, { signal }) =>
      (await post(`${downstream}/status`, { references }, signal)) as ReferenceStatus[],
    results: async (reference, { signal }) =>
      (await post(`${downstream}/results`, { reference }, signal)) as ItemResult[],
  };
  const lane = { service: (target: string) => target, lane: { approach: 'serial' as const } };
  return [
    defineHandler<Payload>({ ...common, name: PLAIN }),
    defineHandler<Payload>({ ...common, ...accepting, name: ACCEPTED }),
    defineHandler<Payload>({ ...common, name: PLACED, affinity: { partitions: 8 } }),
    defineHandler<Payload>({ ...common, ...lane, name: LANE }),
    defineHandler<Payload>({ ...common, ...accepting, ...lane, name: LANE_ACCEPTED }),
    defineHandler<Payload>({ ...common, name: HERD, leaders, concurrency: { perHandler: 1_000 } }),
  ] as Handler[];
};

const NAME = 'MUSTER_TEST_LIVENESS';
/** Environment of a worker process with these handlers. */
export const settingsEnv = (settings: HandlerSettings): Record<string, string> => ({
  [NAME]: JSON.stringify(settings),
});
const given = (): HandlerSettings => JSON.parse(process.env[NAME]!) as HandlerSettings;
/** Those of this process's environment. */
export const givenHandlers = (): Handler[] => livenessHandlers(given());
export const givenDownstream = (): string => given().downstream;

const post = async (url: string, body: object, signal: AbortSignal): Promise<unknown> => {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error(`downstream: ${response.status}`);
  return response.json();
};

import { defineHandler } from '../../../handlers';
import type { Handler, SubmitAnswer } from '../../../handlers';
import { LIMITED } from './downstream';
import { BESIDE, ITEMS, MOST_QUEUED, URL_VARIABLE } from './shape';

/** What the workers of the overload bench serve: what its downstream refuses, and another. */

interface Job {
  to: string;
}

const handlerOf = (name: string, maxItems: number): Handler =>
  defineHandler<Job>({
    name,
    target: ({ to }) => to,
    limits: { maxItems },
    linger: { lingerMs: 50 },
    concurrency: { perTarget: 8, perHandler: 16 },
    idempotency: { by: 'batch' },
    maxQueued: { perHandler: MOST_QUEUED },
    submit: async (batch, { signal }): Promise<SubmitAnswer> => {
      const body = JSON.stringify(batch.tasks.map(({ id }) => id));
      const response = await fetch(`${process.env[URL_VARIABLE]}/${name}`, { method: 'POST', body, signal });
      await response.arrayBuffer();
      const retryAfterMs = Number(response.headers.get('retry-after-ms'));
      if (response.status === 429) return { status: 'later', retryAfterMs, scope: 'handler' };
      return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
    },
  });

export const handlers = [handlerOf(LIMITED, ITEMS), handlerOf(BESIDE, 10)];

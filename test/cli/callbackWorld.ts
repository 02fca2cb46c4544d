import type { World } from './world';
import { createWorld } from './world';
import type { CallbackDownstream } from './callbackDownstream';
import { startCallbackDownstream } from './callbackDownstream';

/**
 * Handlers whose downstream only accepts and calls back: from JSON in the body and in a header, and
 * in code in lanes.
 */
const CONFIG = `
import { defineHandler, httpHandler } from 'temporal-muster';
const url = process.env['JOBS_URL'] + '/jobs';
const http = {
  kind: 'http', target: 'to', limits: { maxItems: 50 }, linger: { lingerMs: 20 },
  accepted: { status: 202, reference: 'job.id' }, poll: { deadlineMs: 3600000 },
  response: { results: 'results', matchBy: 'id', status: { path: 'status' } },
};
export default [
  httpHandler({ ...http, name: 'jobs', request: { url, item: '{{id}}', envelope: { ids: '{{items}}', callback: '{{callbackUrl}}', to: '{{target}}' } } }),
  httpHandler({ ...http, name: 'headed', callbackHeader: 'X-Callback', request: { url, item: '{{id}}', envelope: { ids: '{{items}}', to: '{{target}}' } } }),
  defineHandler({
    name: 'lane', target: (payload: { to: string }) => payload.to, service: (target) => target, limits: { maxItems: 50 }, linger: { lingerMs: 20 },
    submit: async (batch, { callbackUrl, signal }) => {
      const body = JSON.stringify({ ids: batch.tasks.map(({ id }) => id), callback: callbackUrl, to: batch.target });
      const answer = (await (await fetch(url, { method: 'POST', body, signal })).json()) as { job: { id: number } };
      return { status: 'accepted' as const, reference: 'job-' + answer.job.id };
    },
  }),
];
`;

export const SECRET = 'a-secret-of-the-test-that-is-long-enough';

export interface CallbackWorld extends World {
  jobs: CallbackDownstream;
  /** Submits `n` tasks of one target through the command line; their ids. */
  submitTo(handler: string, to: string, n: number): Promise<string[]>;
  /** States of tasks, by id. */
  states(ids: readonly string[]): Promise<string[]>;
}

export const createCallbackWorld = async (): Promise<CallbackWorld> => {
  const world = await createWorld();
  const jobs = await startCallbackDownstream(world.folder);
  Object.assign(world.env, { JOBS_URL: jobs.url, MUSTER_CALLBACK_SECRET: SECRET });
  world.write('muster.config.ts', CONFIG);
  const names = ['created', 'batched', 'in-progress', 'unknown', 'succeeded', 'failed', 'dead', 'cancelled'];
  return {
    ...world,
    jobs,
    submitTo: async (handler, to, n) => {
      const ids = Array.from({ length: n }, (_, i) => `${to}-${i}`);
      const lines = ids.map((id) => JSON.stringify({ id, payload: { to } }));
      expect((await world.run(`submit ${handler} --file -`, lines.join('\n'))).code).toBe(0);
      return ids;
    },
    states: async (ids) => {
      const { rows } = await world.database.pool.query<{ id: string; state: number }>({
        text: 'select id, state from task_state where id = any($1)',
        values: [ids],
      });
      const byId = new Map(rows.map(({ id, state }) => [id, names[state]!]));
      return ids.map((id) => byId.get(id) ?? 'none');
    },
    close: async () => {
      jobs.close();
      await world.close();
    },
  };
};

import { z } from 'zod';
import { defineHandler } from '../../handlers';
import type { ApiWorld } from './world';
import { openWorld } from './world';

/** A handler whose schema answers later, at the doors of the API: refused as such, never a 500. */

const common = {
  schema: z.object({ to: z.string() }).refine(async () => Promise.resolve(true)),
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  submit: () => Promise.resolve({ results: [] }),
};
let world: ApiWorld;
beforeAll(async () => {
  world = await openWorld({
    handlers: [
      defineHandler({ ...common, name: 'late' }),
      defineHandler({ ...common, name: 'lane', service: (to) => to }),
    ],
  });
});
afterAll(() => world.stop());

const task = { id: 'x', payload: { to: 'a' } };
test.each([
  ['tasks', 'late', { tasks: [task] }],
  ['tasks', 'late', { tasks: [task], partial: true }],
  ['batches', 'lane', { batches: [{ service: 'a', items: [task] }] }],
])('POST %s of handler %s: %j', async (what, handler, body) => {
  const answer = await world.call(`POST /v1/handlers/${handler}/${what}`, { body });
  expect(answer).toMatchObject({ status: 422, type: 'application/problem+json' });
  expect(answer.body).toMatchObject({ code: 'ASYNC_SCHEMA', detail: expect.stringMatching(/Make it synchronous/) });
  expect(await world.client.getTask('x')).toBeNull();
});

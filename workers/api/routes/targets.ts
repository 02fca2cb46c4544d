import { z } from 'zod';
import { after, flushed, targetOverrides, targetStatus } from '../../../workflows/contracts/handler';
import { handlerName, pageLimit, reason, targetKey } from '../../../workflows/contracts/fields';
import { route } from '../route';
import { next, nextOf } from './parts';

const tag = 'Targets';
const params = z.object({ handler: handlerName, target: targetKey });
const done = (description: string) => ({ status: 200 as const, schema: z.object({ target: z.string() }), description });

const list = route({
  id: 'listTargets',
  method: 'GET',
  path: '/v1/handlers/{handler}/targets',
  scope: 'read',
  tag,
  summary: "List a handler's targets by key",
  params: z.object({ handler: handlerName }),
  query: z.strictObject({
    limit: pageLimit(50),
    after: after('The key'),
    dueOnly: z.boolean().default(false).describe('List only targets that are due now'),
  }),
  answer: { status: 200, schema: z.object({ targets: z.array(targetStatus), next }), description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: async ({ client, params: { handler }, query }) => {
    const targets = await client.targets(handler, query);
    return { targets, ...nextOf(targets, query.limit, ({ key }) => key) };
  },
});

const set = route({
  id: 'setTarget',
  method: 'PUT',
  path: '/v1/handlers/{handler}/targets/{target}',
  scope: 'operate',
  tag,
  summary: "Override the handler's settings for one target",
  params,
  body: targetOverrides,
  answer: done('Set'),
  problems: ['not-found'],
  run: async ({ client, params: { handler, target }, body }) => {
    await client.setTarget(handler, target, body);
    return { target };
  },
});

const unset = route({
  id: 'unsetTarget',
  method: 'DELETE',
  path: '/v1/handlers/{handler}/targets/{target}',
  scope: 'operate',
  tag,
  summary: "Remove the target's overrides",
  params,
  answer: done('Removed'),
  problems: ['not-found'],
  run: async ({ client, params: { handler, target } }) => {
    await client.setTarget(handler, target, null);
    return { target };
  },
});

const flush = route({
  id: 'flushTarget',
  method: 'POST',
  path: '/v1/handlers/{handler}/targets/{target}/flush',
  scope: 'operate',
  tag,
  summary: 'Make the waiting tasks of a target due immediately',
  params,
  answer: { status: 200, schema: flushed, description: 'Number of tasks flushed' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { handler, target } }) => client.flush(handler, target),
});

const pause = route({
  id: 'pauseTarget',
  method: 'POST',
  path: '/v1/handlers/{handler}/targets/{target}/pause',
  scope: 'operate',
  tag,
  summary: 'Pause a target: no new calls; calls in flight finish',
  params,
  body: z.strictObject({ reason: reason.optional() }),
  bodyOptional: true,
  answer: done('Paused'),
  problems: ['not-found'],
  keyed: 'harmless',
  run: async ({ client, params: { handler, target }, body }) => {
    await client.pause(handler, { target, ...body });
    return { target };
  },
});

const resume = route({
  id: 'resumeTarget',
  method: 'POST',
  path: '/v1/handlers/{handler}/targets/{target}/resume',
  scope: 'operate',
  tag,
  summary: 'Resume a target',
  params,
  answer: done('Resumed'),
  problems: ['not-found'],
  keyed: 'harmless',
  run: async ({ client, params: { handler, target } }) => {
    await client.resume(handler, { target });
    return { target };
  },
});

export const targetRoutes = [list, set, unset, flush, pause, resume];

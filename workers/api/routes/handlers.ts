import { z } from 'zod';
import { completion, completionAnswer } from '../../../workflows/contracts/batch';
import { flushed, handlerStatus, redriveInput } from '../../../workflows/contracts/handler';
import { count, handlerName, reason, targetKey } from '../../../workflows/contracts/fields';
import { eventRoute, route } from '../route';
import { events } from '../streams';
import { serverEvent } from './parts';

const tag = 'Handlers';
const params = z.object({ handler: handlerName });
const target = targetKey.optional().describe('Only this target; default: the whole handler');
const exact = z
  .boolean()
  .optional()
  .describe(
    'true: count everything (seconds per million tasks); false: do not compare the accepted tasks with the sum of the states. Default: exact up to 50,000 rows',
  );

const list = route({
  id: 'getStatus',
  method: 'GET',
  path: '/v1/status',
  scope: 'read',
  tag,
  summary: 'Show the status of all handlers in one snapshot',
  query: z.strictObject({ exact }),
  answer: { status: 200, schema: z.object({ handlers: z.array(handlerStatus) }), description: 'All handlers' },
  problems: [],
  run: async ({ client, query }) => ({ handlers: await client.status(undefined, query) }),
});

const get = route({
  id: 'getHandler',
  method: 'GET',
  path: '/v1/handlers/{handler}',
  scope: 'read',
  tag,
  summary: 'Show the status of one handler',
  params,
  query: z.strictObject({ exact }),
  answer: { status: 200, schema: handlerStatus, description: 'The handler' },
  problems: ['not-found'],
  run: async ({ client, params: { handler }, query }) => (await client.status(handler, query))[0]!,
});

const watch = eventRoute({
  id: 'watchHandler',
  method: 'GET',
  path: '/v1/handlers/{handler}/events',
  scope: 'read',
  tag,
  summary: 'Stream the status of one handler as server-sent events',
  description:
    'Sends `progress` with the handler, as `getHandler` returns it with exact=false, whenever it changes, until the client disconnects.',
  params,
  answer: { status: 200, schema: serverEvent, description: 'Events' },
  problems: ['not-found'],
  run: async ({ client, params: { handler }, signal, together }) => {
    const look = async () => {
      const [found] = await client.status(handler, { exact: false });
      // Ages change with every look; only events are reported.
      const leaders = found!.leaders.map((leader) => ({ ...leader, wakeInMs: null, expiresInMs: null }));
      return { ...found!, oldestQueuedMs: null, leaders };
    };
    return events({ first: await look(), again: together(look), isOver: () => false, signal, everyMs: 1_000 });
  },
});

const flush = route({
  id: 'flushHandler',
  method: 'POST',
  path: '/v1/handlers/{handler}/flush',
  scope: 'operate',
  tag,
  summary: 'Make all waiting tasks due immediately',
  params,
  body: z.strictObject({ target }),
  bodyOptional: true,
  answer: { status: 200, schema: flushed, description: 'Number of tasks and targets flushed' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { handler }, body }) => client.flush(handler, body.target),
});

const pause = route({
  id: 'pauseHandler',
  method: 'POST',
  path: '/v1/handlers/{handler}/pause',
  scope: 'operate',
  tag,
  summary: 'Pause a handler: no new calls; calls in flight finish',
  params,
  body: z.strictObject({ target, reason: reason.optional() }),
  bodyOptional: true,
  answer: { status: 200, schema: z.object({ paused: z.literal(true) }), description: 'Paused' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { handler }, body }) => client.pause(handler, body),
});

const resume = route({
  id: 'resumeHandler',
  method: 'POST',
  path: '/v1/handlers/{handler}/resume',
  scope: 'operate',
  tag,
  summary: 'Resume a handler, whatever the reason it was paused for',
  params,
  body: z.strictObject({ target }),
  bodyOptional: true,
  answer: { status: 200, schema: z.object({ resumed: z.literal(true) }), description: 'Resumed' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { handler }, body }) => client.resume(handler, body),
});

const redrive = route({
  id: 'redriveTasks',
  method: 'POST',
  path: '/v1/handlers/{handler}/redrive',
  scope: 'operate',
  tag,
  summary: 'Send failed, dead or parked tasks again, with fresh attempts',
  params,
  body: redriveInput,
  answer: { status: 200, schema: z.object({ redriven: count }), description: 'Number of tasks' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { handler }, body }) => client.redrive(handler, body),
});

const complete = route({
  id: 'completeBatch',
  method: 'POST',
  path: '/v1/handlers/{handler}/complete',
  scope: 'complete',
  tag,
  summary: 'Report the outcome of a batch that the downstream accepted',
  description:
    'Name the batch by `reference` or `batchId`. A repeated report returns the same answer, with `repeated`.',
  params,
  body: completion,
  answer: { status: 200, schema: completionAnswer, description: 'Settled' },
  problems: ['not-found', 'too-early', 'conflict', 'refused'],
  keyed: 'harmless',
  run: ({ client, params: { handler }, body }) =>
    client.complete(handler, body as Parameters<typeof client.complete>[1]),
});

export const handlerRoutes = [list, get, watch, flush, pause, resume, redrive, complete];

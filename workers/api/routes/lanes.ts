import { z } from 'zod';
import { after } from '../../../workflows/contracts/handler';
import * as contracts from '../../../workflows/contracts/lane';
import { LISTED_AGE_MAX_MS, WEIGHT_MAX } from '../../../workflows/planning/lanes/limits';
import { batchId, pageLimit, reason, service } from '../../../workflows/contracts/fields';
import { route } from '../route';
import { callbacksOf, refuseWorkflows } from './operator';
import { next, nextOf } from './parts';

const tag = 'Lanes';
const params = z.object({ service });
const why = z.strictObject({ reason: reason.optional() });
const done = (description: string) => ({
  status: 200 as const,
  schema: z.object({ service: z.string() }),
  description,
});
const halted = { status: 200 as const, schema: z.object({ batch: batchId }), description: 'The lane continues' };

const list = route({
  id: 'listLanes',
  method: 'GET',
  path: '/v1/lanes',
  scope: 'read',
  tag,
  summary: 'List lanes by service: depth, age, state and why, share of the submitters',
  query: z.strictObject({
    limit: pageLimit(100),
    after: after('The service'),
    waiting: z.boolean().default(false).describe('List only lanes with work to send'),
    olderThanMs: z
      .number()
      .int()
      .min(0)
      .max(LISTED_AGE_MAX_MS)
      .optional()
      .describe('List only lanes whose oldest work is this old or older'),
  }),
  answer: { status: 200, schema: z.object({ lanes: z.array(contracts.laneView), next }), description: 'A page' },
  problems: [],
  isLarge: true,
  run: async ({ client, query, prefix, handlers }) => {
    const within = { ...(prefix === undefined ? {} : { prefix }), ...(handlers === undefined ? {} : { handlers }) };
    const lanes = await client.lanes({ ...query, ...within });
    return { lanes, ...nextOf(lanes, query.limit, (lane) => lane.service) };
  },
});

const get = route({
  id: 'getLane',
  method: 'GET',
  path: '/v1/lanes/{service}',
  scope: 'read',
  tag,
  summary: 'Show one lane with its first open batches',
  description: 'The state keys of the batches end at 8 MB; those after that have `keysOmitted`.',
  params,
  query: z.strictObject({ batches: z.number().int().min(0).max(1_000).default(20) }),
  answer: { status: 200, schema: contracts.laneWithBatches, description: 'The lane' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, params: one, query }) => client.lane(one.service, query),
});

const pause = route({
  id: 'pauseLane',
  method: 'POST',
  path: '/v1/lanes/{service}/pause',
  scope: 'operate',
  tag,
  summary: 'Pause a lane: no new calls; calls in flight finish',
  params,
  body: why,
  bodyOptional: true,
  answer: done('Paused'),
  problems: ['not-found'],
  keyed: 'harmless',
  run: async ({ client, params: one, body }) => {
    await client.pauseLane(one.service, body.reason);
    return one;
  },
});

const resume = route({
  id: 'resumeLane',
  method: 'POST',
  path: '/v1/lanes/{service}/resume',
  scope: 'operate',
  tag,
  summary: 'Resume a lane',
  params,
  answer: done('Resumed'),
  problems: ['not-found'],
  keyed: 'harmless',
  run: async ({ client, params: one }) => {
    await client.resumeLane(one.service);
    return one;
  },
});

const weight = route({
  id: 'setLaneWeight',
  method: 'PUT',
  path: '/v1/lanes/{service}/weight',
  scope: 'operate',
  tag,
  summary: "Set the lane's share with strategy per-service, effective from the next grant",
  params,
  body: z.strictObject({ weight: z.number().int().min(1).max(WEIGHT_MAX) }),
  answer: done('Set'),
  problems: ['not-found'],
  run: async ({ client, params: one, body }) => {
    await client.setLaneWeight(one.service, body.weight);
    return one;
  },
});

const skip = route({
  id: 'skipHead',
  method: 'POST',
  path: '/v1/lanes/{service}/skip',
  scope: 'operate',
  tag,
  summary: 'Continue a halted lane without the batch that halts it',
  params,
  body: contracts.laneSkip,
  bodyOptional: true,
  answer: halted,
  problems: ['not-found', 'conflict'],
  keyed: 'harmless',
  run: ({ client, params: one, body }) => client.skipHead(one.service, body),
});

const fix = route({
  id: 'fixHead',
  method: 'POST',
  path: '/v1/lanes/{service}/fix',
  scope: 'operate',
  tag,
  summary: 'Settle the batch that halts a lane: decide its unknown outcome, or replace its invalid items',
  params,
  body: contracts.laneFix,
  answer: halted,
  problems: ['not-found', 'id-conflict', 'conflict', 'quota', 'refused'],
  keyed: 'harmless',
  run: ({ client, params: one, body, operator }) => {
    if ('items' in body) refuseWorkflows(operator, callbacksOf(body.items, 'items'));
    return client.fixHead(one.service, body);
  },
});

const lost = route({
  id: 'reportLost',
  method: 'POST',
  path: '/v1/lanes/{service}/lost',
  scope: 'operate',
  tag,
  summary: 'Send again, in order, what the downstream accepted in a lane and lost',
  params,
  body: contracts.laneLost,
  bodyOptional: true,
  answer: { status: 200, schema: contracts.laneLostAnswer, description: 'The lane sends them again' },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: one, body }) => client.reportLost(one.service, body),
});

const queuer = route({
  id: 'getQueuers',
  method: 'GET',
  path: '/v1/queuers',
  scope: 'read',
  tag,
  summary: "Show the queuer's settings and grants",
  answer: { status: 200, schema: z.object({ queuers: z.array(contracts.queuerView) }), description: 'Queuers' },
  problems: [],
  run: async ({ client }) => ({ queuers: await client.queuer() }),
});

const setQueuer = route({
  id: 'setQueuers',
  method: 'PATCH',
  path: '/v1/queuers',
  scope: 'admin',
  tag,
  summary: 'Set the number of submitters, the strategy and the rounds; omitted settings are unchanged',
  body: contracts.queuerSettings,
  answer: {
    status: 200,
    schema: z.object({ queuers: z.array(contracts.queuerView) }),
    description: 'The settings now',
  },
  problems: [],
  run: async ({ client, body }) => {
    await client.setQueuer(body);
    return { queuers: await client.queuer() };
  },
});

const everything = { status: 200 as const, schema: z.object({ paused: z.boolean() }), description: 'All lanes' };
const pauseAll = route({
  id: 'pauseQueuers',
  method: 'POST',
  path: '/v1/queuers/pause',
  scope: 'operate',
  tag,
  summary: 'Pause all lanes: no lane is granted a submitter',
  body: why,
  bodyOptional: true,
  answer: everything,
  problems: [],
  keyed: 'harmless',
  run: async ({ client, body }) => {
    await client.pauseQueuer(body.reason);
    return { paused: true };
  },
});
const resumeAll = route({
  id: 'resumeQueuers',
  method: 'POST',
  path: '/v1/queuers/resume',
  scope: 'operate',
  tag,
  summary: 'Resume all lanes',
  answer: everything,
  problems: [],
  keyed: 'harmless',
  run: async ({ client }) => {
    await client.resumeQueuer();
    return { paused: false };
  },
});

export const laneRoutes = [list, get, pause, resume, weight, skip, fix, lost, queuer, setQueuer, pauseAll, resumeAll];

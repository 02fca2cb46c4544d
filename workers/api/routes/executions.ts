import { z } from 'zod';
import type { ExecutionConfig, Template } from '../../../client/executions/check';
import { checkArguments } from '../../../client/executions/check';
import type { ExecuteRequest } from '../../../workflows/contracts/execution';
import * as contracts from '../../../workflows/contracts/execution';
import { count, pageLimit } from '../../../workflows/contracts/fields';
import { ITEM_PAGE_MAX } from '../../../workflows/planning/pages';
import { PAGE_BYTES } from '../bodies/memory';
import { eventRoute, route } from '../route';
import { events, waited } from '../streams';
import type { OperatorLimits } from './operator';
import { refuseAbove } from './operator';
import { hasMany, isWaiting, serverEvent, waitQuery } from './parts';

const tag = 'Executions';
const params = z.object({ execution: contracts.executionId });
type State = contracts.ExecutionView['state'];
const isOver = ({ state }: { state: State }): boolean => state === 'done' || state === 'cancelled';

const start = route({
  id: 'execute',
  method: 'POST',
  path: '/v1/executions',
  scope: 'submit',
  tag,
  summary: 'Run one function over many argument lists',
  description:
    'Returns as soon as the list is stored; follow the execution by its request_id. `code` and `message` say whether nodes can run it now.',
  body: contracts.executeRequest,
  isHeavy: hasMany('arguments'),
  answer: { status: 202, schema: contracts.executeAnswer, description: 'Accepted' },
  problems: ['id-conflict', 'conflict', 'quota', 'refused'],
  keyed: 'id',
  run: async ({ client, body, keyId, tenant, operator }) => {
    const { template, arguments: lists, topic, max_attempts: maxAttempts } = body;
    lists.forEach(checkArguments); // all of them before the first is stored: a refusal changes nothing
    const execution = await client.execute(templateOf(operator, template), lists, {
      ...(topic === undefined ? {} : { topic }),
      ...(maxAttempts === undefined ? {} : { maxAttempts }),
      ...(keyId === undefined ? {} : { requestId: keyId }),
      ...(tenant === undefined ? {} : { tenant }),
    });
    return { request_id: execution.id, code: execution.code, message: execution.message };
  },
});

/** Returns what a request runs. @throws ApiProblem for what is above the operator's limits. */
export const templateOf = (operator: OperatorLimits, template: ExecuteRequest['template']): Template => {
  const { function_id: functionId, method, config } = template;
  refuseAbove(operator, { concurrency: config?.concurrency, timeoutMs: config?.timeout_ms });
  return { functionId, method, config: configOf(config) };
};

const configOf = (config: ExecuteRequest['template']['config'] = {}): ExecutionConfig => {
  const {
    number_of_nodes: numberOfNodes,
    env_vars: envVars,
    rate_per_host: ratePerHost,
    timeout_ms: timeoutMs,
    ...rest
  } = config;
  const given = { ...rest, numberOfNodes, envVars, ratePerHost, timeoutMs };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
};

const list = route({
  id: 'listExecutions',
  method: 'GET',
  path: '/v1/executions',
  scope: 'read',
  tag,
  summary: 'List executions, newest first',
  query: z.strictObject({ limit: pageLimit(20) }),
  answer: { status: 200, schema: z.object({ executions: z.array(contracts.executionView) }), description: 'Newest' },
  problems: [],
  isLarge: true,
  run: async ({ client, query, tenant, functions }) => ({
    executions: await client.executions({
      ...query,
      ...(tenant === undefined ? {} : { tenant }),
      ...(functions === undefined ? {} : { functions }),
    }),
  }),
});

const get = route({
  id: 'getExecution',
  method: 'GET',
  path: '/v1/executions/{execution}',
  scope: 'read',
  tag,
  summary: 'Show an execution now or, with `wait`, once it is done or cancelled',
  params,
  query: z.strictObject({ wait: waitQuery }),
  answer: { status: 200, schema: contracts.executionView, description: 'The execution' },
  problems: ['not-found'],
  waits: isWaiting,
  isLarge: true,
  until: async ({ client, params: { execution }, query, signal, together, maxWaitS }) => {
    const waitS = Math.min(query.wait, maxWaitS);
    if (waitS === 0) return;
    // Those who wait hold no settings meanwhile, which may have megabytes.
    const look = () => client.execution(execution).progress();
    await waited({ look, again: together(look), isOver, waitS, signal });
  },
  run: ({ client, params: { execution } }) => client.execution(execution).status(),
});

const progress = route({
  id: 'getProgress',
  method: 'GET',
  path: '/v1/executions/{execution}/progress',
  scope: 'read',
  tag,
  summary: 'Count the items in each state',
  params,
  answer: { status: 200, schema: contracts.executionProgress, description: 'Counts' },
  problems: ['not-found'],
  run: ({ client, params: { execution } }) => client.execution(execution).progress(),
});

const watch = eventRoute({
  id: 'watchExecution',
  method: 'GET',
  path: '/v1/executions/{execution}/events',
  scope: 'read',
  tag,
  summary: 'Stream the progress of an execution as server-sent events',
  description: 'Sends `progress` with the counts whenever they change, and `end` with the final counts.',
  params,
  answer: { status: 200, schema: serverEvent, description: 'Events' },
  problems: ['not-found'],
  run: async ({ client, params: { execution }, signal, together }) => {
    const look = () => client.execution(execution).progress();
    return events({ first: await look(), again: together(look), isOver, signal });
  },
});

const results = route({
  id: 'getResults',
  method: 'GET',
  path: '/v1/executions/{execution}/results',
  scope: 'read',
  tag,
  summary: 'Page through the result document, as far as it exists',
  description:
    'A page has at most `limit` results, or 8 MB of them; the last page has no `next`. ' +
    'While the execution is running, read again from the start later: results arrive in any order.',
  params,
  query: z.strictObject({
    limit: pageLimit(1_000, ITEM_PAGE_MAX),
    after: z
      .string()
      .max(46)
      .regex(/^[0-9a-f-]{36}:[0-9]{1,9}$/)
      .optional()
      .describe('`next` of the previous page'),
  }),
  answer: { status: 200, schema: contracts.resultPage, description: 'One page of the document' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, params: { execution }, query }) =>
    client.execution(execution).resultPage({ ...query, maxBytes: PAGE_BYTES }),
});

const items = route({
  id: 'listWorkItems',
  method: 'GET',
  path: '/v1/executions/{execution}/items',
  scope: 'read',
  tag,
  summary: 'Page through the work items by position, in any state',
  description: 'A page has at most `limit` items, or 8 MB of them; the last page has no `next`.',
  params,
  query: z.strictObject({
    limit: pageLimit(1_000, ITEM_PAGE_MAX),
    after: z.number().int().min(-1).max(2_147_483_647).default(-1).describe('Position after which the page starts'),
  }),
  answer: {
    status: 200,
    schema: z.object({ items: z.array(contracts.workItemView), next: count.optional() }),
    description: 'One page of items',
  },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, params: { execution }, query }) =>
    client.execution(execution).itemsAfter({ ...query, maxBytes: PAGE_BYTES }),
});

const chunks = route({
  id: 'listChunks',
  method: 'GET',
  path: '/v1/executions/{execution}/chunks',
  scope: 'read',
  tag,
  summary: 'List the chunks, newest round first, at most 1,000',
  params,
  answer: { status: 200, schema: z.object({ chunks: z.array(contracts.chunkView) }), description: 'Newest' },
  problems: ['not-found'],
  isLarge: true,
  run: async ({ client, params: { execution } }) => ({ chunks: await client.execution(execution).chunks() }),
});

const cancel = route({
  id: 'cancelExecution',
  method: 'POST',
  path: '/v1/executions/{execution}/cancel',
  scope: 'submit',
  tag,
  summary: 'Cancel an execution: running items are interrupted, no more are started, finished ones are kept',
  params,
  answer: {
    status: 200,
    schema: contracts.executionView,
    description: 'The execution afterwards; if it had already ended, its state is unchanged',
  },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params: { execution } }) => client.execution(execution).cancel(),
});

export const executionRoutes = [start, list, get, progress, watch, results, items, chunks, cancel];

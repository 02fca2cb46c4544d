import { z } from 'zod';
import { nodeView, partitionView } from '../../../workflows/contracts/node';
import { handlerName, plainName } from '../../../workflows/contracts/fields';
import { route } from '../route';

const tag = 'Nodes';
const node = plainName(512).describe("A node's id, or its name");

const list = route({
  id: 'listNodes',
  method: 'GET',
  path: '/v1/nodes',
  scope: 'read',
  tag,
  summary: 'The worker processes: what each can run, holds and processes, and whether it lives',
  answer: { status: 200, schema: z.object({ nodes: z.array(nodeView) }), description: 'By name, then by start' },
  problems: [],
  run: async ({ client }) => ({ nodes: await client.nodes() }),
});

const drain = route({
  id: 'drainNode',
  method: 'POST',
  path: '/v1/nodes/{node}/drain',
  scope: 'admin',
  tag,
  summary: 'It gives up its partitions and gets no others, nor chunks of executions',
  params: z.object({ node }),
  body: z.strictObject({ undo: z.boolean().default(false).describe('It may have some again') }),
  bodyOptional: true,
  answer: {
    status: 200,
    schema: z.object({ nodes: z.array(z.string()).describe('Ids of those it is about'), drained: z.boolean() }),
    description: 'The balancer is told',
  },
  problems: ['not-found'],
  keyed: 'harmless',
  run: ({ client, params, body }) => client.drainNode(params.node, { undo: body.undo }),
});

const partitions = route({
  id: 'listPartitions',
  method: 'GET',
  path: '/v1/partitions',
  scope: 'read',
  tag,
  summary: 'Who holds each partition, under which epoch, since when and why; who has calls of it under way',
  query: z.strictObject({ handler: handlerName.optional() }),
  answer: {
    status: 200,
    schema: z.object({ partitions: z.array(partitionView) }),
    description: 'By handler and number',
  },
  problems: ['not-found', 'refused'],
  run: async ({ client, query }) => ({
    partitions: await client.partitions(query.handler === undefined ? {} : { handler: query.handler }),
  }),
});

const move = route({
  id: 'movePartition',
  method: 'POST',
  path: '/v1/partitions/{handler}/{no}/move',
  scope: 'admin',
  tag,
  summary: 'It goes to that node, and stays there while it lives',
  params: z.object({ handler: handlerName, no: z.number().int().min(0).max(1_023) }),
  body: z.strictObject({ node: node.nullable().describe('Null: wherever the balancer puts it') }),
  answer: {
    status: 200,
    schema: z.object({ partition: z.string(), pinnedTo: z.string().nullable() }),
    description: 'The balancer is told',
  },
  problems: ['not-found', 'refused'],
  keyed: 'harmless',
  run: ({ client, params, body }) => client.movePartition(`${params.handler}/${params.no}`, body.node),
});

export const nodeRoutes = [list, drain, partitions, move];

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
  summary: 'List the worker processes: what each can run, holds and processes, and whether it is alive',
  answer: {
    status: 200,
    schema: z.object({ nodes: z.array(nodeView) }),
    description: 'The nodes, by name, then by start',
  },
  problems: [],
  run: async ({ client }) => ({ nodes: await client.nodes() }),
});

const drain = route({
  id: 'drainNode',
  method: 'POST',
  path: '/v1/nodes/{node}/drain',
  scope: 'operate',
  tag,
  summary: 'Drain a node: it gives up its partitions, and gets no more partitions or chunks of executions',
  params: z.object({ node }),
  body: z.strictObject({ undo: z.boolean().default(false).describe('Make a drained node eligible again') }),
  bodyOptional: true,
  answer: {
    status: 200,
    schema: z.object({ nodes: z.array(z.string()).describe('Ids of the nodes affected'), drained: z.boolean() }),
    description: 'The balancer was notified',
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
  summary: 'List the partitions: holder, epoch, age and reason, and the nodes with running calls of each',
  query: z.strictObject({ handler: handlerName.optional() }),
  answer: {
    status: 200,
    schema: z.object({ partitions: z.array(partitionView) }),
    description: 'The partitions, by handler and number',
  },
  problems: ['not-found', 'refused'],
  isLarge: true,
  run: async ({ client, query }) => ({
    partitions: await client.partitions(query.handler === undefined ? {} : { handler: query.handler }),
  }),
});

const move = route({
  id: 'movePartition',
  method: 'POST',
  path: '/v1/partitions/{handler}/{no}/move',
  scope: 'operate',
  tag,
  summary: 'Pin a partition to a node for as long as that node is alive',
  params: z.object({ handler: handlerName, no: z.number().int().min(0).max(1_023) }),
  body: z.strictObject({ node: node.nullable().describe('Null: the balancer chooses') }),
  answer: {
    status: 200,
    schema: z.object({ partition: z.string(), pinnedTo: z.string().nullable() }),
    description: 'The balancer was notified',
  },
  problems: ['not-found', 'refused'],
  keyed: 'harmless',
  run: ({ client, params, body }) => client.movePartition(`${params.handler}/${params.no}`, body.node),
});

export const nodeRoutes = [list, drain, partitions, move];

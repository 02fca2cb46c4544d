import { z } from 'zod';
import { count, ms, time } from './fields';

/** Nodes and partitions as operators see them. */

export const nodeView = z
  .object({
    id: z.string().describe('Of this process; the next one has another'),
    name: z.string().nullable().describe('The same after a restart (MUSTER_NODE_NAME); null: none was given'),
    handlers: z.array(z.string()),
    attributes: z.record(z.string(), z.string()),
    batch: z.boolean().describe('Answers roll calls of executions'),
    functions: z.array(z.string()).describe('What it can run'),
    version: z.string(),
    alive: z
      .boolean()
      .describe('Seen within the last 30 s. Its leases do not wait so long: they end by their own times'),
    seenMs: ms.describe('Since its last sign of life'),
    startedAt: time,
    draining: z.boolean().describe('Its process is stopping'),
    drained: z.boolean().describe('By an operator: it is to have no partitions'),
    partitions: count.describe('How many it holds: leases that have not passed'),
    load: count.describe('Batches that ended in the last minute and whose last call it made'),
    inFlight: count.describe(
      'Calls that it began and that may still be in progress; a killed node keeps them until their deadline, or until they are taken over',
    ),
    processing: count.describe('Partitions that those calls belong to, held by it or not'),
  })
  .meta({ id: 'Node' });
export type NodeView = z.infer<typeof nodeView>;

const PARTITION_STATES = ['held', 'revoked', 'kept', 'expired', 'free'] as const;
export type PartitionState = (typeof PARTITION_STATES)[number];

export const partitionView = z
  .object({
    partition: z.string().describe('<handler>/<no>'),
    handler: z.string(),
    no: count,
    state: z
      .enum(PARTITION_STATES)
      .describe(
        'revoked: its holder was asked to give it up; kept: given up by a node that restarts; expired: its lease passed and no node took it yet',
      ),
    holder: z.string().nullable().describe('Node that the lease names, also when that has just passed; null: none'),
    holderName: z.string().nullable(),
    epoch: count.describe('Rises with every holder'),
    sinceMs: ms.nullable().describe('Since the holder got it'),
    leaseLeftMs: ms.nullable().describe('Below 0: the lease passed so long ago'),
    revokedMs: ms.nullable().describe('Since its holder was asked to give it up'),
    wantedBy: z.string().nullable().describe('For which node; null: for none in particular'),
    wantedByName: z.string().nullable(),
    keptFor: z.string().nullable().describe('The name of the node that restarts'),
    keptLeftMs: ms.nullable(),
    pinnedTo: z.string().nullable().describe("By an operator: a node's id or name"),
    load: count.describe('Batches of it that ended in the last minute'),
    processing: z
      .array(z.object({ node: z.string(), name: z.string().nullable(), calls: count }))
      .describe('Nodes with calls of it in progress: one that lost the partition may still be at work'),
    lastMove: z.object({ at: time, why: z.string().nullable() }).nullable().describe('Null: no node has had it yet'),
  })
  .meta({ id: 'Partition' });
export type PartitionView = z.infer<typeof partitionView>;

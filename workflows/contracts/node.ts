import { z } from 'zod';
import { count, ms, time } from './fields';

/** Nodes and partitions as operators see them. */

export const nodeView = z
  .object({
    id: z.string().describe('Id of this process; it changes with every restart'),
    name: z.string().nullable().describe('Name that survives restarts (MUSTER_NODE_NAME); null: not set'),
    handlers: z.array(z.string()),
    attributes: z.record(z.string(), z.string()),
    batch: z.boolean().describe('True if it answers roll calls of executions'),
    functions: z.array(z.string()).describe('Functions that it can run'),
    topics: z.array(z.string()).describe('Topics of executions that it subscribes to'),
    hangsMs: ms.describe(
      'Time for which its main thread had given no sign of life at its last heartbeat; from 5,000 on it answers no roll call',
    ),
    version: z.string(),
    alive: z.boolean().describe('True if seen within the last 30 s. Its leases may expire earlier'),
    seenMs: ms.describe('Time since its last heartbeat'),
    startedAt: time,
    draining: z.boolean().describe('True if its process is stopping'),
    drained: z.boolean().describe('True if an operator drained it: it must hold no partitions'),
    partitions: count.describe('Number of partitions it holds (unexpired leases)'),
    load: count.describe('Batches that ended in the last minute and whose last call this node made'),
    inFlight: count.describe(
      'Calls it started that may still be in progress; those of a killed node count until their deadline, or until another node takes them over',
    ),
    processing: count.describe('Number of partitions that those calls belong to, whether it holds them or not'),
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
        'revoked: its holder was asked to give it up; kept: reserved for a node that is restarting; expired: its lease expired and no node has acquired it yet',
      ),
    holder: z.string().nullable().describe('Node named in the lease, even if that has just expired; null: none'),
    holderName: z.string().nullable(),
    epoch: count.describe('Increases with every new holder'),
    sinceMs: ms.nullable().describe('Time since the holder acquired it'),
    leaseLeftMs: ms.nullable().describe('Time until the lease expires; below 0: time since it expired'),
    revokedMs: ms.nullable().describe('Time since its holder was asked to give it up'),
    wantedBy: z.string().nullable().describe('Node that is to get it; null: no particular node'),
    wantedByName: z.string().nullable(),
    keptFor: z.string().nullable().describe('Name of the node that is restarting'),
    keptLeftMs: ms.nullable(),
    pinnedTo: z.string().nullable().describe('Node id or name to which an operator pinned it'),
    load: count.describe('Batches of this partition that ended in the last minute'),
    processing: z
      .array(z.object({ node: z.string(), name: z.string().nullable(), calls: count }))
      .describe('Nodes with calls in progress for this partition: a former holder may still be working'),
    lastMove: z.object({ at: time, why: z.string().nullable() }).nullable().describe('Null: no node has held it yet'),
    checkpoint: z
      .object({ value: z.unknown(), at: time, epoch: count.describe('Epoch of the holder that stored it') })
      .nullable()
      .describe('Progress that its holder, or one before it, stored last; null: none'),
  })
  .meta({ id: 'Partition' });
export type PartitionView = z.infer<typeof partitionView>;

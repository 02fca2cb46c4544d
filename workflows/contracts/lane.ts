import { z } from 'zod';
import { LANE_STATES } from '../planning/lanes/laneState';
import { BATCH_ITEMS_MAX, DEPTH_MAX, SLOTS_MAX } from '../planning/lanes/limits';
import { APPROACHES, LANE_KINDS, ON_INVALID, STRATEGIES } from '../planning/lanes/types';
import { LEADER_STATES } from '../planning/states';
import { laneBatchStatus } from './batch';
import { taskInput } from './task';
import { batchId, count, ms, namesOf, reason, time } from './fields';

export const laneView = z
  .object({
    service: z.string(),
    state: z.enum(LANE_STATES),
    reason: z.string().nullable().describe('Why the lane is paused or halted'),
    haltedBy: batchId.nullable(),
    depth: count.describe('Open batches'),
    queued: count.describe('Tasks that are not in a batch yet'),
    oldestMs: ms.nullable().describe('Age of the oldest open batch or task; null: none is waiting'),
    pending: count.describe('Batches that are submitted, pending or valid'),
    holdInMs: ms.nullable(),
    callsAllowed: count.nullable().describe('Concurrent calls allowed by back pressure; null: as configured'),
    weight: count,
    share: z.number().describe('Share of all grants so far, 0 to 1'),
    granted: count,
    kind: namesOf(LANE_KINDS),
    approach: namesOf(APPROACHES),
    onInvalid: namesOf(ON_INVALID),
    partition: z.string().nullable().describe('<handler>/<no> of a handler with affinity; null: any node serves it'),
  })
  .meta({ id: 'Lane' });
export type LaneView = z.infer<typeof laneView>;

export const laneBatchView = z
  .object({
    batch: batchId,
    service: z.string(),
    handler: z.string(),
    target: z.string(),
    status: laneBatchStatus,
    place: count.nullable().describe('Place in the lane, 1 is first; null: the batch has ended'),
    n: count,
    attempts: count.describe('Number of the last attempt: a call, or a notice after which an earlier answer is void'),
    error: z.string().nullable(),
    reads: z.array(z.string()),
    writes: z.array(z.string()),
    keysOmitted: z
      .literal(true)
      .optional()
      .describe(
        'Its reads and writes were not read, as the keys of the batches before it have 8 MB: ask for the batch alone',
      ),
    dependsOn: z.array(batchId),
    parts: z.array(batchId).describe('Batches that this one was split into'),
    reference: z.string().nullable().describe('Reference under which the downstream accepted the batch'),
    createdAt: time,
    changedAt: time,
    explanation: z.string().describe('Its place and what it is waiting for, as text'),
  })
  .meta({ id: 'LaneBatch' });
export type LaneBatchView = z.infer<typeof laneBatchView>;

export const laneWithBatches = laneView.extend({ batches: z.array(laneBatchView) }).meta({ id: 'LaneWithBatches' });

const strategy = namesOf(STRATEGIES);
export const queuerView = z
  .object({
    id: count,
    state: namesOf(LEADER_STATES),
    epoch: count,
    slots: count,
    taken: count,
    strategy,
    depth: count.describe('Rounds per turn with strategy multi-round'),
    grants: count,
    paused: z.boolean(),
    reason: z.string().nullable(),
    lanes: count,
    ready: count,
    halted: count,
    pausedLanes: count,
    held: count.describe('Lanes whose next batch is waiting for a limit of its handler'),
    reduced: z
      .array(z.object({ handler: z.string(), calls: count, of: count }))
      .describe('Handlers whose concurrent calls are reduced by back pressure'),
  })
  .meta({ id: 'Queuer' });
export type QueuerView = z.infer<typeof queuerView>;

export const queuerSettings = z
  .strictObject({
    slots: z.number().int().min(1).max(SLOTS_MAX).optional().describe('Batches sent at once, over all lanes'),
    strategy: strategy.optional(),
    depth: z.number().int().min(1).max(DEPTH_MAX).optional().describe('Rounds per turn with strategy multi-round'),
  })
  .describe('Pass at least one setting')
  .meta({ id: 'QueuerSettings', minProperties: 1 });

/** The batches of a lane that the downstream has lost. */
export const laneLost = z
  .strictObject({
    afterBatch: batchId.optional().describe('Only batches after this one in the lane'),
    afterReference: z.string().min(1).optional().describe('Only batches after the one with this reference'),
    acceptedBefore: time
      .optional()
      .describe('Only batches accepted by then; pass that of an earlier answer, so that a repeat does no harm'),
    reason: reason.optional(),
  })
  .meta({ id: 'LaneLost' });

export const laneLostAnswer = z
  .object({
    batches: count.describe('Number of batches that are looked up, then sent again'),
    first: batchId.nullable(),
    last: batchId.nullable(),
    acceptedBefore: time.describe('Batches accepted later are not among them'),
  })
  .meta({ id: 'LaneLostAnswer' });

const meantBatch = batchId
  .optional()
  .describe('The batch that is meant: if another one halts the lane by now, nothing is changed');

export const laneSkip = z.strictObject({ batch: meantBatch }).meta({ id: 'LaneSkip' });

/** What to do with the batch that halts a lane. */
export const laneFix = z
  .union([
    z.strictObject({
      batch: meantBatch,
      as: z
        .enum(['applied', 'again'])
        .describe('Decision on an unknown outcome: the batch was applied, or send it again'),
    }),
    z.strictObject({
      batch: meantBatch,
      items: z.array(taskInput).min(1).max(BATCH_ITEMS_MAX).describe('Replacement for the items of an invalid batch'),
    }),
  ])
  .meta({ id: 'LaneFix' });

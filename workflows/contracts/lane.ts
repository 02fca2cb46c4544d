import { z } from 'zod';
import { LANE_STATES } from '../planning/lanes/laneState';
import { BATCH_ITEMS_MAX, DEPTH_MAX, SLOTS_MAX } from '../planning/lanes/limits';
import { APPROACHES, LANE_KINDS, ON_INVALID, STRATEGIES } from '../planning/lanes/types';
import { LEADER_STATES } from '../planning/states';
import { laneBatchStatus } from './batch';
import { taskInput } from './task';
import { batchId, count, ms, namesOf, time } from './fields';

export const laneView = z
  .object({
    service: z.string(),
    state: z.enum(LANE_STATES),
    reason: z.string().nullable().describe('Why it is paused or halted'),
    haltedBy: batchId.nullable(),
    depth: count.describe('Open batches'),
    queued: count.describe('Tasks that are in none yet'),
    oldestMs: ms.nullable().describe('Since the oldest of them was submitted; null: none waits'),
    pending: count.describe('Submitted, pending or valid'),
    holdInMs: ms.nullable(),
    callsAllowed: count.nullable().describe('Calls at once that back pressure left; null: as configured'),
    weight: count,
    share: z.number().describe('Of all grants so far, 0 to 1'),
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
    place: count.nullable().describe('1 = first; null: it has ended'),
    n: count,
    attempts: count.describe('Calls so far'),
    error: z.string().nullable(),
    reads: z.array(z.string()),
    writes: z.array(z.string()),
    dependsOn: z.array(batchId),
    parts: z.array(batchId).describe('Batches that it was split into'),
    reference: z.string().nullable().describe('Accepted downstream under this name'),
    createdAt: time,
    changedAt: time,
    explanation: z.string().describe('Where it is and what it waits for, in words'),
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
    depth: count.describe('Of multi-round'),
    grants: count,
    paused: z.boolean(),
    reason: z.string().nullable(),
    lanes: count,
    ready: count,
    halted: count,
    pausedLanes: count,
    held: count.describe('Lanes whose next batch waits for a limit of its handler'),
    reduced: z
      .array(z.object({ handler: z.string(), calls: count, of: count }))
      .describe('Handlers that back pressure left fewer calls at once'),
  })
  .meta({ id: 'Queuer' });
export type QueuerView = z.infer<typeof queuerView>;

export const queuerSettings = z
  .strictObject({
    slots: z.number().int().min(1).max(SLOTS_MAX).optional().describe('Batches that are sent at once, of all lanes'),
    strategy: strategy.optional(),
    depth: z.number().int().min(1).max(DEPTH_MAX).optional().describe('Rounds at a time of multi-round'),
  })
  .describe('At least one of them')
  .meta({ id: 'QueuerSettings', minProperties: 1 });

/** What to do with the batch that halts a lane. */
export const laneFix = z
  .union([
    z.strictObject({
      as: z.enum(['applied', 'again']).describe('Of unknown outcome: it was applied; or send it again'),
    }),
    z.strictObject({
      items: z.array(taskInput).min(1).max(BATCH_ITEMS_MAX).describe('In place of those of an invalid one'),
    }),
  ])
  .meta({ id: 'LaneFix' });

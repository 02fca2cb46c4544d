import { z } from 'zod';
import { LEADER_STATES, TASK_STATES } from '../planning/states';
import type { FlushReason, TaskState } from '../planning/states';
import { flushReason } from './batch';
import { count, ms, namesOf, paused, plainName, targetKey, taskId, time } from './fields';
import { limitSetting } from './limits';
import { MAX_LINGER_MS } from '../planning/grouping/longest';

const leaderView = z
  .object({
    name: z.string().describe("Name of the leader: 0 to n-1, or the target's key with leaders: 'target'"),
    state: namesOf(LEADER_STATES),
    epoch: count,
    wakeInMs: ms.nullable().describe('Time until the leader looks again; null: it is not waiting for a time'),
    expiresInMs: ms
      .nullable()
      .describe('Time until the lease expires; below 0: silent for too long, so the sweeper wakes it; null: idle'),
    unansweredMs: ms
      .nullable()
      .describe('Time since the last wake that no turn has answered; null: every wake was answered'),
  })
  .meta({ id: 'Leader' });
export type LeaderView = z.infer<typeof leaderView>;

/**
 * A workflow that has made no progress for long although it was woken, or although its work is
 * overdue; or a read of results that brings none.
 */
const stalled = z
  .object({
    kind: z.enum(['leader', 'queuer', 'monitor', 'notifier', 'balancer', 'execution', 'dispatch', 'read']),
    name: z
      .string()
      .describe(
        'Handler of a monitor, id of an execution, oldest unsent batch of a dispatch, or batch whose results are read',
      ),
    ms: ms.describe('Time since it was woken, since its work was due, or since a result came'),
    workflowId: z.string(),
    runId: z
      .string()
      .nullable()
      .describe('Run of its last turn; null: it has never taken a turn, or the store does not know'),
  })
  .meta({ id: 'Stalled' });
export type Stalled = z.infer<typeof stalled>;

const stateCounts = z.object(
  Object.fromEntries(Object.keys(TASK_STATES).map((state) => [state, count])) as Record<TaskState, typeof count>,
);
const reasonCounts = z
  .custom<Partial<Record<FlushReason, number>>>()
  .meta({ type: 'object', additionalProperties: { type: 'integer' } });

export const handlerStatus = z
  .object({
    handler: z.string(),
    paused,
    pausedTargets: count.describe('Targets that an operator has paused one by one'),
    holdUntil: time.nullable().describe('Back pressure with scope handler: nothing is sent before this time'),
    counts: stateCounts,
    accepted: count.describe('Tasks in the store; the sum of the counts if identityHolds is null'),
    estimated: z.boolean().describe('Some counts are estimated from a sample; pass exact=true to count them'),
    identityHolds: z
      .boolean()
      .nullable()
      .describe('Whether accepted equals the sum of the counts in one snapshot; null: not compared, see exact'),
    held: count.describe('Created tasks that wait for tasks that they depend on'),
    oldestQueuedMs: ms.nullable().describe('Age of the oldest ready task; null: none is waiting'),
    inFlightCalls: count,
    limitsSet: z.array(limitSetting).describe('Limits that were set in place of those of the definition'),
    sharesLimit: z.string().nullable().describe('Name of the limit that it shares with other handlers; null: none'),
    leaders: z.array(leaderView).describe('At most 1,000, unresponsive leaders first'),
    flushReasons: reasonCounts.describe('Number of batches in the store by close reason'),
    served: z.boolean().describe('True if a live worker has this handler; otherwise nothing is sent'),
    stalled: z
      .array(stalled)
      .describe(
        'Workflows whose work has stalled: woken more than 30 s ago, or due for more than 60 s. The notifier and executions are listed with every handler',
      ),
    partitions: z
      .object({ n: count, held: count })
      .nullable()
      .describe('With affinity: how many, and of how many a node holds the lease. Null: any node serves it'),
  })
  .meta({ id: 'HandlerStatus' });
export type HandlerStatus = z.infer<typeof handlerStatus>;

export const targetOverrides = z
  .strictObject({
    lingerMs: z.number().int().min(0).max(MAX_LINGER_MS).optional(),
    quietPeriodMs: z.number().int().min(1).max(MAX_LINGER_MS).optional(),
    maxItems: z.number().int().min(1).max(100_000).optional(),
    minItems: z.number().int().min(1).max(100_000).optional(),
  })
  .describe("Replaces all of the target's overrides: an omitted setting returns to the handler's")
  .meta({ id: 'TargetOverrides' });
export type TargetOverrides = z.infer<typeof targetOverrides>;

export const targetStatus = z
  .object({
    key: z.string(),
    leader: z.string(),
    epoch: count.describe('Epoch of its leader'),
    paused,
    busy: z.boolean().describe('True if its calls (or weight) in flight are at the limit'),
    holdInMs: ms.nullable().describe('Time held by back pressure or its own rate limit; null: not held'),
    dueInMs: ms
      .nullable()
      .describe('Time until the leader looks at it; negative: overdue; null: no task is waiting to be sent'),
    queued: count,
    delayed: count,
    inFlight: count,
    unknown: count,
    overrides: targetOverrides.nullable(),
    limitsSet: z.array(limitSetting).describe("Limits that were set in place of the handler's"),
    lastFlushReason: flushReason.nullable(),
  })
  .meta({ id: 'Target' });
export type TargetStatus = z.infer<typeof targetStatus>;

export const flushed = z.object({ targets: count, tasks: count }).meta({ id: 'Flushed' });

export const redriveInput = z
  .strictObject({
    only: z.enum(['failed', 'unknown', 'dead']),
    target: targetKey.optional(),
    ids: z.array(taskId).min(1).max(10_000).optional().describe('Only these tasks, if they are in that state'),
    limit: z.number().int().min(1).max(1_000_000_000).optional(),
  })
  .meta({ id: 'Redrive' });

export const verification = z
  .object({
    ok: z.boolean().describe('True if no row that was checked violates an invariant'),
    full: z.boolean().describe('True if every row was checked'),
    checks: z.array(
      z.object({
        name: z.string(),
        violations: z.array(z.custom<object>().meta({ type: 'object' })),
        looked: z
          .object({ table: z.string(), rows: count, of: count })
          .nullable()
          .describe('Rows of the table that were checked, of about how many; null: all rows'),
      }),
    ),
  })
  .meta({ id: 'Verification' });
export type Verification = z.infer<typeof verification>;

export const after = (what: string) => plainName(1_000).optional().describe(`${what} after which the page starts`);

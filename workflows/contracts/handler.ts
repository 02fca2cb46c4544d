import { z } from 'zod';
import { LEADER_STATES, TASK_STATES } from '../planning/states';
import type { FlushReason, TaskState } from '../planning/states';
import { flushReason } from './batch';
import { count, ms, namesOf, paused, plainName, targetKey, taskId, time } from './fields';
import { MAX_LINGER_MS } from '../planning/grouping/longest';

const leaderView = z
  .object({
    name: z.string().describe("Of the set: 0 to n-1, or the target's key with leaders: 'target'"),
    state: namesOf(LEADER_STATES),
    epoch: count,
    wakeInMs: ms.nullable().describe('Looks again in; null: not waiting for a time'),
    expiresInMs: ms.nullable().describe('Below 0: silent for too long, the sweeper wakes it; null: idle'),
    unansweredMs: ms.nullable().describe('Since it was woken, without a turn; null: it has taken one since'),
  })
  .meta({ id: 'Leader' });
export type LeaderView = z.infer<typeof leaderView>;

/** A workflow that was woken, or whose work has been overdue, for long without any progress. */
const standing = z
  .object({
    kind: z.enum(['leader', 'queuer', 'monitor', 'notifier', 'balancer', 'execution', 'dispatch']),
    name: z
      .string()
      .describe(
        'Of a monitor its handler, of an execution its id, of a dispatch the oldest batch that it has not called',
      ),
    ms: ms.describe('Since it was woken, or its work was due'),
    workflowId: z.string(),
    runId: z.string().nullable().describe('Of its last turn; null: it has never taken one, or the store does not know'),
  })
  .meta({ id: 'Standing' });
export type Standing = z.infer<typeof standing>;

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
    holdUntil: time.nullable().describe('Back pressure with scope handler: nothing is sent before'),
    counts: stateCounts,
    accepted: count.describe('Tasks in the store; the sum of counts where identityHolds is null'),
    estimated: z.boolean().describe('Some counts are projected from a sample; exact=true counts them'),
    identityHolds: z
      .boolean()
      .nullable()
      .describe('accepted = sum of counts, read in one snapshot; null: not compared, see exact'),
    oldestQueuedMs: ms.nullable().describe('Since the oldest ready task has been waiting; null: none waits'),
    inFlightCalls: count,
    leaders: z.array(leaderView).describe('At most 1,000, those that do not answer first'),
    flushReasons: reasonCounts.describe('Why the batches still in the store were closed: how many of each'),
    served: z.boolean().describe('A live worker node has this handler; without one nothing of it is sent'),
    standing: z
      .array(standing)
      .describe(
        'Whose work stands still: woken for more than 30 s, or due for more than 60 s. The notifier and executions stand with every handler',
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
  .describe("In place of the handler's, all at once: what is left out is the handler's again")
  .meta({ id: 'TargetOverrides' });
export type TargetOverrides = z.infer<typeof targetOverrides>;

export const targetStatus = z
  .object({
    key: z.string(),
    leader: z.string(),
    epoch: count.describe('Of its leader'),
    paused,
    busy: z.boolean().describe('Its calls (or weight) in flight are at the limit'),
    holdInMs: ms.nullable().describe('Back pressure or its own rate limit; null: not held'),
    dueInMs: ms
      .nullable()
      .describe('Until the leader looks at it; negative: overdue; null: nothing waits that could go'),
    queued: count,
    delayed: count,
    inFlight: count,
    unknown: count,
    overrides: targetOverrides.nullable(),
    lastFlushReason: flushReason.nullable(),
  })
  .meta({ id: 'Target' });
export type TargetStatus = z.infer<typeof targetStatus>;

export const flushed = z.object({ targets: count, tasks: count }).meta({ id: 'Flushed' });

export const redriveInput = z
  .strictObject({
    only: z.enum(['failed', 'unknown', 'dead']),
    target: targetKey.optional(),
    ids: z.array(taskId).min(1).max(10_000).optional().describe('These alone, as far as they are in that state'),
    limit: z.number().int().min(1).max(1_000_000_000).optional(),
  })
  .meta({ id: 'Redrive' });

export const verification = z
  .object({
    ok: z.boolean().describe('Nothing that was looked at is violated'),
    full: z.boolean().describe('Nothing was left out'),
    checks: z.array(
      z.object({
        name: z.string(),
        violations: z.array(z.custom<object>().meta({ type: 'object' })),
        looked: z
          .object({ table: z.string(), rows: count, of: count })
          .nullable()
          .describe('How many rows of which table were looked at, and of about how many; null: all there is'),
      }),
    ),
  })
  .meta({ id: 'Verification' });
export type Verification = z.infer<typeof verification>;

export const after = (what: string) => plainName(1_000).optional().describe(`${what} after which the page starts`);

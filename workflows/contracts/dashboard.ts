import { z } from 'zod';
import { batchState } from './batch';
import { ENDS } from '../planning/outcomes/kinds';
import { TRACE_ID } from '../planning/traceUrl';
import { batchId, count, ms, paused, time } from './fields';
import { fanoutView } from './fanout';
import { handlerStatus, targetOverrides } from './handler';
import { queuerView } from './lane';
import { limitSetting } from './limits';

/** What the pages of the dashboard read beside the rest of the API. */

export const sessionView = z
  .object({
    name: z.string().nullable().describe('Name of the token; null: none is required'),
    scopes: z.array(z.string()),
    tenant: z.string().nullable(),
    handlers: z.array(z.string()).nullable().describe('Handlers that the token is limited to; null: all'),
    version: z.string(),
    namespace: z.string().describe('Namespace of Temporal'),
    temporalUi: z.string().nullable().describe("Address of Temporal's Web UI; null: not known"),
    traceUrl: z
      .string()
      .nullable()
      .describe(`Address of a trace, with ${TRACE_ID} in place of its id; null: not known`),
  })
  .meta({ id: 'Session' });
export type SessionView = z.infer<typeof sessionView>;

const limits = z
  .object({
    maxItems: count,
    maxBytes: count.nullable(),
    maxWeight: z.number().nullable(),
    minItems: count,
    lingerMs: count,
    quietMs: count.nullable(),
    perTarget: count.describe('Calls in flight, for one target'),
    perHandler: count,
    slots: count.describe('Calls in flight, or reserved, of perHandler'),
    allowed: count.nullable().describe('Calls that back pressure still allows; null: as configured'),
    maxAttemptMs: count.describe('Time limit of a call'),
    mostQueued: count.nullable().describe('Tasks that may wait, after which submits are refused; null: any number'),
  })
  .describe('Settings of a handler as the workers stored them, and what is used of them')
  .meta({ id: 'HandlerLimits' });
export type HandlerLimits = z.infer<typeof limits>;

const overviewHandler = handlerStatus
  .omit({ leaders: true, flushReasons: true })
  .extend({
    leaders: z.object({ n: count, unanswered: count, oldestUnansweredMs: ms.nullable() }),
    limits,
    retrying: z
      .object({ tasks: count, error: z.string().describe('Why the newest of them was not done') })
      .nullable()
      .describe('Tasks that wait for another attempt after a failed call, among the newest; null: none'),
  })
  .meta({ id: 'OverviewHandler' });
export type OverviewHandler = z.infer<typeof overviewHandler>;

export const overview = z
  .object({
    at: time.describe("Time of the look, by the database's clock"),
    handlers: z.array(overviewHandler).describe('Those that the token may see as a whole, none for a tenant'),
    nodes: z
      .object({ alive: count, silent: count, drained: count, versions: z.array(z.string()) })
      .nullable()
      .describe('Null: not for a limited token'),
    queuers: z.array(queuerView).nullable().describe('Null: not for a limited token'),
    beside: z
      .object({
        executionsWithoutNodes: count.describe('Executions that wait for nodes which can run them'),
        retriedCallbacks: count.describe('Callbacks that were not delivered and are tried again'),
        lostCallbacks: count.describe('Callbacks that were given up; at most 10,000 of both are counted'),
        clockSkewMs: z.number().describe("By how much the clock of this process differs from the store's, at least"),
        oldestTransaction: z
          .object({
            holder: z.string().describe('Whose it is: a session, a prepared transaction or a replication slot'),
            seconds: z.number().nullable().describe("For how long; null: hidden from this process's role"),
            transactions: count.describe('Transactions that have begun since'),
            remedy: z.string(),
          })
          .nullable()
          .describe('What has kept vacuum for longest from removing rows that were deleted since; null: nothing'),
      })
      .nullable()
      .describe('What belongs to no handler. Null: not for a limited token'),
  })
  .meta({ id: 'Overview' });
export type Overview = z.infer<typeof overview>;

const minutes = z.array(count).describe('By minute, the last one at the end');
export const hourPage = z
  .object({
    at: time.describe("Time of the look, by the database's clock"),
    handlers: z
      .array(
        z.object({
          handler: z.string(),
          succeeded: minutes,
          failed: minutes,
          callsPerS: z.number().describe('Over about the last minute'),
          endsPerMin: z.record(z.enum(ENDS), z.number()),
        }),
      )
      .describe('Those of the overview that made calls or ended tasks in the last hour'),
  })
  .meta({ id: 'HourPage' });
export type HourPage = z.infer<typeof hourPage>;

export const handlerPage = z
  .object({
    status: handlerStatus,
    limits,
    workflows: z
      .record(z.string(), z.string())
      .describe("Ids of the leaders' workflows, by the name of the leader; at most 1,000"),
  })
  .meta({ id: 'HandlerPage' });
export type HandlerPage = z.infer<typeof handlerPage>;

export const targetPage = z
  .object({
    key: z.string(),
    leader: z.string(),
    workflowId: z.string(),
    paused,
    busy: z.boolean(),
    holdInMs: ms.nullable(),
    dueInMs: ms.nullable(),
    delayed: count,
    inFlight: count,
    unknown: count,
    overrides: targetOverrides.nullable(),
    limitsSet: z.array(limitSetting).describe("Limits that were set in place of the handler's"),
    forming: z
      .object({
        items: count.describe('Waiting tasks that the next batch would take, at most maxItems'),
        bytes: count.describe('With the bytes of the call itself'),
        weight: z.number(),
        oldestMs: ms.nullable().describe('Age of the oldest of them; null: none waits'),
        newestMs: ms.nullable(),
        more: z.boolean().describe('More tasks wait behind them'),
      })
      .describe('The next batch, as far as the tasks that wait make it'),
    limits: z.object({
      maxItems: count,
      maxBytes: count.nullable(),
      maxWeight: z.number().nullable(),
      minItems: count,
      lingerMs: count,
      quietMs: count.nullable(),
      perTarget: count,
    }),
    openBatches: z.array(
      z.object({ id: batchId, n: count, attempts: count, retryAt: time.nullable(), reference: z.string().nullable() }),
    ),
  })
  .meta({ id: 'TargetPage' });
export type TargetPage = z.infer<typeof targetPage>;

const batchHalf = z
  .object({
    id: batchId,
    parent: batchId.nullable().describe('Batch that it was split from; null: all others were split from it'),
    state: batchState,
    n: count.describe('Members when it was formed'),
    left: count.describe('Members that have left since: into halves, or ended separately'),
    attempts: count,
  })
  .meta({ id: 'BatchHalf' });
export type BatchHalf = z.infer<typeof batchHalf>;

export const batchHalves = z
  .object({
    batches: z.array(batchHalf).describe('The whole batch first, then its halves, then theirs'),
    complete: z.boolean().describe('False: there are more'),
  })
  .meta({ id: 'BatchHalves' });
export type BatchHalves = z.infer<typeof batchHalves>;

export const fanoutList = z.object({ fanouts: z.array(fanoutView) }).meta({ id: 'FanoutList' });

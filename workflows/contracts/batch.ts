import { z } from 'zod';
import { CANCELLATION_CAUSES, CANCELLATION_STATES } from '../planning/calls/cancellation';
import {
  BATCH_ITEMS_MAX,
  BATCH_KEY_BYTES_MAX,
  DEPENDENCIES_MAX,
  STATE_KEY_BYTES_MAX,
  STATE_KEYS_MAX,
} from '../planning/lanes/limits';
import { STATUSES } from '../planning/lanes/statuses';
import { BATCH_STATES, FLUSH_REASONS } from '../planning/states';
import { taskInput, taskState } from './task';
import { batchId, count, namesOf, nextPage, plainName, service, time } from './fields';

export const batchState = namesOf(BATCH_STATES);
export const flushReason = namesOf(FLUSH_REASONS).describe('Why the batch was closed');

const cancellationState = namesOf(CANCELLATION_STATES).describe(
  "The downstream's answer to the request to stop the batch; requested: none yet",
);

const batchCancellation = z
  .object({
    state: cancellationState,
    cause: namesOf(CANCELLATION_CAUSES).describe('Why the batch was given up'),
    reference: z.string(),
    tries: count.describe('Number of calls that asked the downstream to stop the batch'),
    error: z.string().nullable().describe('Error of the downstream or of the last call'),
    requestedAt: time,
    endedAt: time.nullable(),
  })
  .meta({ id: 'BatchCancellation' });

export const batchView = z
  .object({
    id: batchId,
    handler: z.string(),
    target: z.string(),
    leader: z.string(),
    epoch: count.describe('Epoch of the leader when it formed the batch'),
    turn: count.describe('Turn of the leader in which it formed the batch'),
    state: batchState,
    reason: flushReason,
    n: count.describe('Members when the batch was formed'),
    left: count.describe('Members that have left since: put back, split off, or ended separately'),
    bytes: count,
    weight: z.number(),
    attempts: count.describe('Calls recorded so far (a manual verdict counts as one)'),
    counted: count.describe('Attempts that count against maxAttempts'),
    attemptBy: z.string().nullable().describe('Node that made the last call'),
    attemptUntil: time.nullable().describe('Time until which no process may start the next attempt; null: concluded'),
    dispatch: count.nullable().describe('Dispatch that carries the batch; null: the batch waits in the store'),
    refusals: count.describe('Consecutive calls that were refused for now'),
    retryAt: time.nullable(),
    reference: z.string().nullable().describe('Reference under which the downstream accepted the batch'),
    pollAt: time.nullable(),
    pollUntil: time.nullable(),
    readAt: time.nullable().describe('When the read of its results last got on; null: they are not being read'),
    cancellation: batchCancellation
      .nullable()
      .describe('Request to the downstream to stop the batch; null: the batch was not given up'),
    parent: batchId.nullable().describe('Batch that this one was split from'),
    children: z.array(batchId).describe('Batches that this one was split into'),
    depth: count,
    refused: z.boolean().describe('Refused for its content; waiting for the outcome of the other half'),
    idempotencyKey: z.string().describe('Idempotency key sent to the downstream'),
    error: z.string().nullable(),
    stack: z.string().nullable().describe('Stack of the error thrown by the handler, innermost frame first'),
    resultPages: count,
    createdAt: time,
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    members: z
      .array(z.object({ id: z.string(), state: taskState }))
      .describe('In member order, the first 100 by default; tasks deleted after their retention are omitted'),
  })
  .meta({ id: 'Batch' });
export type BatchView = z.infer<typeof batchView>;

export const batchSummary = batchView
  .pick({
    id: true,
    target: true,
    state: true,
    reason: true,
    n: true,
    left: true,
    bytes: true,
    attempts: true,
    retryAt: true,
    reference: true,
    error: true,
    createdAt: true,
    startedAt: true,
    finishedAt: true,
  })
  .meta({ id: 'BatchSummary' });
export type BatchSummary = z.infer<typeof batchSummary>;

export const batchPage = z.object({ batches: z.array(batchSummary), next: nextPage }).meta({ id: 'BatchPage' });
export type BatchPage = z.infer<typeof batchPage>;

export const laneBatchStatus = namesOf(STATUSES).describe('Present for a lane batch');

export const batchInput = z
  .strictObject({
    service,
    items: z
      .array(taskInput)
      .min(1)
      .max(BATCH_ITEMS_MAX)
      .describe('Items of one target, in the order in which the downstream must receive them'),
    reads: z
      .array(plainName(STATE_KEY_BYTES_MAX))
      .max(STATE_KEYS_MAX)
      .optional()
      .describe('State keys that the batch reads, for the approach parallel'),
    writes: z
      .array(plainName(STATE_KEY_BYTES_MAX))
      .max(STATE_KEYS_MAX)
      .optional()
      .describe('State keys that the batch writes, for the approach parallel'),
    dependsOn: z
      .array(z.union([batchId, plainName(BATCH_KEY_BYTES_MAX)]))
      .max(DEPENDENCIES_MAX)
      .optional()
      .describe('Batches that must be committed before this one is sent: their numbers, or keys from the same call'),
    key: plainName(BATCH_KEY_BYTES_MAX)
      .optional()
      .describe('Name of this batch within the call, for dependsOn of other batches'),
  })
  .meta({ id: 'BatchInput' });

export const submittedBatch = z
  .object({
    batch: batchId,
    service: z.string(),
    accepted: z.boolean().describe('False: exactly these items had already been submitted as this batch'),
  })
  .meta({ id: 'SubmittedBatch' });

export const cancelledBatch = z
  .object({
    batch: batchId,
    service: z.string().nullable().describe('Present for a lane batch'),
    tasks: z
      .array(z.string())
      .describe('Ids of the tasks that ended with it; empty if it had already been cancelled, or is accepted'),
    cancellation: cancellationState
      .optional()
      .describe(
        "For an accepted batch that the downstream was asked to stop: its tasks end according to the downstream's answer",
      ),
  })
  .meta({ id: 'CancelledBatch' });

export const receipt = z
  .object({
    id: z.string(),
    receipt: z
      .enum(['valid', 'invalid'])
      .nullable()
      .describe('valid: applied; invalid: refused permanently; null: not known yet'),
    state: taskState,
    message: z.string().nullable(),
    messageOmitted: z.literal(true).optional().describe('Its message was left out: those of the batch exceed 8 MB'),
    data: z.unknown().optional().describe('Data that the downstream returned with it'),
    dataOmitted: z.literal(true).optional().describe('Data was not read: the values of the batch exceed 16 MB'),
  })
  .meta({ id: 'Receipt' });

/** The outcome of an accepted batch, as a completion reports it. */
export const completion = z
  .strictObject({
    reference: plainName(4_096)
      .optional()
      .describe('Reference that the downstream returned on acceptance; pass this or batchId'),
    batchId: batchId.optional(),
    status: z.enum(['done', 'expired', 'failed']).optional(),
    results: z
      .array(z.looseObject({}))
      .optional()
      .describe(
        '{id or index, status: ok | retry | failed | unknown, result?, error?}; a task without a result becomes unknown',
      ),
    error: z.string().optional().describe('With expired and failed: why'),
  })
  .meta({ id: 'Completion' });

export const completionAnswer = z
  .object({
    batch: batchId,
    reference: z.string().nullable(),
    state: batchState,
    results: z
      .object({ ok: count, retry: count, failed: count, unknown: count })
      .nullable()
      .describe('Number of members by reported status; null with status failed'),
    repeated: z.boolean(),
  })
  .meta({ id: 'CompletionAnswer' });

/** An operator's decision that ends an unknown outcome. */
export const verdict = z
  .strictObject({
    as: z
      .enum(['succeeded', 'failed', 'created'])
      .describe('created: the task is sent again and keeps its attempt count'),
    result: z.unknown().optional().describe('With succeeded: the value of each task'),
    error: z.string().max(10_000).optional().describe('With failed: why'),
  })
  .meta({ id: 'Verdict' });

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
import { batchId, count, namesOf, plainName, service, time } from './fields';

const batchState = namesOf(BATCH_STATES);
export const flushReason = namesOf(FLUSH_REASONS).describe('Why it closed');

const cancellationState = namesOf(CANCELLATION_STATES).describe(
  'What the downstream said when it was asked to stop the batch; requested: nothing yet',
);

const batchCancellation = z
  .object({
    state: cancellationState,
    cause: namesOf(CANCELLATION_CAUSES).describe('Why it was given up'),
    reference: z.string(),
    tries: count.describe('Calls begun'),
    error: z.string().nullable().describe('What the downstream, or the last call, said'),
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
    epoch: count.describe('Who formed it'),
    turn: count,
    state: batchState,
    reason: flushReason,
    n: count.describe('Members when it was formed'),
    left: count.describe('Have left since: put back, split off, or with an end of their own'),
    bytes: count,
    weight: z.number(),
    attempts: count.describe('Calls marked so far (a verdict by hand is one, too)'),
    counted: count.describe('Those that count against maxAttempts'),
    attemptBy: z.string().nullable().describe('The node of the last call'),
    attemptUntil: time.nullable().describe('Until when no process may take the next attempt; null: concluded'),
    dispatch: count.nullable().describe('The dispatch that carries it; null: waits in the store'),
    refusals: count.describe('Calls refused for now in a row'),
    retryAt: time.nullable(),
    reference: z.string().nullable().describe('Accepted downstream under this reference'),
    pollAt: time.nullable(),
    pollUntil: time.nullable(),
    cancellation: batchCancellation.nullable().describe('The downstream is to stop it; null: it was not given up'),
    parent: batchId.nullable().describe('Split from'),
    children: z.array(batchId).describe('Split into'),
    depth: count,
    refused: z.boolean().describe('Refused for its content, waits for the outcome of its other half'),
    idempotencyKey: z.string().describe('Key under which the downstream may know these tasks'),
    error: z.string().nullable(),
    stack: z.string().nullable().describe('Where the handler threw that error, from the innermost frame on'),
    resultPages: count,
    createdAt: time,
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
    members: z
      .array(z.object({ id: z.string(), state: taskState }))
      .describe('In member order, the first 100 unless asked for more; a task deleted after its retention is left out'),
  })
  .meta({ id: 'Batch' });
export type BatchView = z.infer<typeof batchView>;

export const laneBatchStatus = namesOf(STATUSES).describe('Of a batch in a lane');

export const batchInput = z
  .strictObject({
    service,
    items: z
      .array(taskInput)
      .min(1)
      .max(BATCH_ITEMS_MAX)
      .describe('In the order in which the downstream is to get them, all of one target'),
    reads: z
      .array(plainName(STATE_KEY_BYTES_MAX))
      .max(STATE_KEYS_MAX)
      .optional()
      .describe('State keys for approach parallel'),
    writes: z.array(plainName(STATE_KEY_BYTES_MAX)).max(STATE_KEYS_MAX).optional(),
    dependsOn: z
      .array(z.union([batchId, plainName(BATCH_KEY_BYTES_MAX)]))
      .max(DEPENDENCIES_MAX)
      .optional()
      .describe('Batches that must be committed before this one is sent: their numbers, or keys of the same call'),
    key: plainName(BATCH_KEY_BYTES_MAX)
      .optional()
      .describe('Name of this batch within the call, for dependsOn of others'),
  })
  .meta({ id: 'BatchInput' });

export const submittedBatch = z
  .object({
    batch: batchId,
    service: z.string(),
    accepted: z.boolean().describe('False: these very items had been submitted before, as this batch'),
  })
  .meta({ id: 'SubmittedBatch' });

export const cancelledBatch = z
  .object({
    batch: batchId,
    service: z.string().nullable().describe('Of a batch in a lane'),
    tasks: z.array(z.string()).describe('Ids that ended with it; none when it was cancelled before, or is accepted'),
    cancellation: cancellationState
      .optional()
      .describe('Of a batch that the downstream has accepted and is asked to stop: its tasks end by what it says then'),
  })
  .meta({ id: 'CancelledBatch' });

export const receipt = z
  .object({
    id: z.string(),
    receipt: z.enum(['valid', 'invalid']).nullable().describe('Applied, refused for good, or (null) not known yet'),
    state: taskState,
    message: z.string().nullable(),
    data: z.unknown().optional().describe('What the downstream gave with it'),
  })
  .meta({ id: 'Receipt' });

/** The outcome of an accepted batch, as a completion reports it. */
export const completion = z
  .strictObject({
    reference: plainName(4_096).optional().describe('What the downstream answered when it accepted; this or batchId'),
    batchId: batchId.optional(),
    status: z.enum(['done', 'expired', 'failed']).optional(),
    results: z
      .array(z.looseObject({}))
      .optional()
      .describe('{id or index, status: ok | retry | failed | unknown, result?, error?}; a missing one is unknown'),
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
      .describe('Members by what was told of them; null with status failed'),
    repeated: z.boolean(),
  })
  .meta({ id: 'CompletionAnswer' });

/** An operator's decision that ends an unknown outcome. */
export const verdict = z
  .strictObject({
    as: z.enum(['succeeded', 'failed', 'created']).describe('created: to be sent again, with the attempts it has had'),
    result: z.unknown().optional().describe('With succeeded: the value of each task'),
    error: z.string().max(10_000).optional().describe('With failed: why'),
  })
  .meta({ id: 'Verdict' });

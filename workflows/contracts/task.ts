import { z } from 'zod';
import type { ExplainFacts, ServedBy } from '../planning/explain/facts';
import { WAITS_FOR } from '../planning/explain/facts';
import { ON_DEPENDENCY_FAILURE, TASK_DEPENDENCIES_MAX } from '../planning/grouping/dependencies';
import { TASK_STATES } from '../planning/states';
import { TASK_METADATA_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX } from '../planning/tags';
import { batchId, callback, count, namesOf, nextPage, taskId, time } from './fields';

export const taskState = namesOf(TASK_STATES).describe(
  'succeeded, failed, dead and cancelled are final; unknown waits for resolve',
);

export const taskInput = z
  .strictObject({
    id: taskId,
    payload: z
      .unknown()
      .refine((value) => value !== undefined, 'expected a value, got nothing')
      .describe("Any JSON that the handler's schema accepts"),
    notBefore: z
      .union([z.string().max(40), z.number().min(0).max(253_402_300_799_999)])
      .optional()
      .describe('Earliest time to join a batch: ISO time or Unix milliseconds'),
    expiresAt: z
      .union([z.string().max(40), z.number().min(0).max(253_402_300_799_999)])
      .optional()
      .describe('A task that is still waiting then fails: ISO time or Unix milliseconds; not in a lane'),
    priority: z
      .number()
      .int()
      .min(-32_768)
      .max(32_767)
      .optional()
      .describe('A lower priority goes first within its target; 0 or higher for a token of a tenant'),
    callback: callback.optional(),
    dependsOn: z
      .array(taskId)
      .max(TASK_DEPENDENCIES_MAX)
      .optional()
      .describe(
        'Tasks that must have succeeded before it joins a batch: of the same call, in any order, or accepted before; not in a lane',
      ),
    onDependencyFailure: z
      .enum(ON_DEPENDENCY_FAILURE)
      .optional()
      .describe(
        'If one of them does not succeed: the task fails too (fail, default), or runs once all have ended (run)',
      ),
    tags: z
      .array(z.string().min(1).max(TAG_BYTES_MAX))
      .max(TAGS_MAX)
      .optional()
      .describe('Texts of 1-100 bytes by which lists and bulk actions find it; never encoded'),
    metadata: z
      .record(z.string().max(TASK_METADATA_BYTES_MAX), z.string().max(TASK_METADATA_BYTES_MAX))
      .optional()
      .describe('Texts by name that are shown with it, at most 4,096 bytes of JSON'),
  })
  .meta({ id: 'TaskInput' });

/** One problem of one task of a call. */
const taskProblem = z
  .object({
    index: count.describe('Place in the call, starting at 0'),
    id: z.string().optional(),
    field: z.string(),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'TaskProblem' });

export const submitAnswer = z
  .object({
    accepted: count.describe('Newly stored tasks, committed before this answer'),
    repeated: count.describe('Tasks that had already been accepted with the same content'),
    refused: z
      .array(taskProblem)
      .describe('With partial only: all problems of the first 100 refused tasks, and of each other one the first, cut'),
  })
  .meta({ id: 'SubmitAnswer' });

export const taskView = z
  .object({
    id: z.string(),
    handler: z.string(),
    target: z.string(),
    state: taskState,
    attempts: count.describe('Counted attempts so far; back pressure does not count'),
    batch: batchId.nullable().describe('Batch that the task is in, or ended in; null: none'),
    createdAt: time,
    notBefore: time
      .optional()
      .describe(
        'Earliest time to join a batch: from the caller, or the backoff of a retry. Present only while waiting',
      ),
    expiresAt: time
      .optional()
      .describe('When it fails if it still waits then, in no batch. Present only until it has ended'),
    priority: z.number().int(),
    dependsOn: z.array(z.string()).optional().describe('Present only if it was submitted with dependencies'),
    onDependencyFailure: z.enum(ON_DEPENDENCY_FAILURE).optional().describe('Present only with dependsOn'),
    waitsFor: z
      .array(z.string())
      .optional()
      .describe('Those of dependsOn that have not ended. Present only while the task is held for them'),
    payloadVersion: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe('Version of the payload. Present only if it is not the one that the handler has now'),
    traceparent: z
      .string()
      .optional()
      .describe('W3C trace context under which it was submitted. Present only if that trace was recorded'),
    payload: z.unknown(),
    tags: z.array(z.string()).optional().describe('Present only if it was submitted with tags'),
    metadata: z.record(z.string(), z.string()).optional().describe('Present only if it was submitted with metadata'),
    result: z
      .unknown()
      .optional()
      .describe("The downstream's result for this task; only if it succeeded and the downstream returned one"),
    resultNote: z
      .string()
      .optional()
      .describe(
        'What could not be stored of the result: characters replaced by U+FFFD, or all of it (then result is null)',
      ),
    error: z
      .string()
      .nullable()
      .optional()
      .describe('Why the task failed, died, is unknown or is waiting for another attempt'),
    finishedAt: time.optional().describe('Present only in a final state'),
    encoded: z
      .partialRecord(z.enum(['payload', 'metadata', 'result', 'error']), z.string())
      .optional()
      .describe('Why these fields stand here as they are stored: encoded by the payload codec, or kept as objects'),
  })
  .meta({ id: 'Task' });
export type TaskView = z.infer<typeof taskView>;

/** What a list says of a task: all but its payload, its result and its dependencies. */
export const taskSummary = taskView
  .pick({
    id: true,
    handler: true,
    target: true,
    state: true,
    attempts: true,
    batch: true,
    createdAt: true,
    notBefore: true,
    expiresAt: true,
    priority: true,
    payloadVersion: true,
    tags: true,
    error: true,
    finishedAt: true,
  })
  .meta({ id: 'TaskSummary' });
export type TaskSummary = z.infer<typeof taskSummary>;

export const taskPage = z
  .object({
    tasks: z.array(taskSummary),
    next: nextPage,
  })
  .meta({ id: 'TaskPage' });
export type TaskPage = z.infer<typeof taskPage>;

export const cancellation = z
  .object({
    cancelled: z.array(z.string()),
    notCancelled: z.array(
      z.object({
        id: z.string(),
        state: z.union([taskState, z.literal('unknown id')]),
        batch: batchId.optional().describe('Batch that the task is in, if that batch could not be cancelled'),
        why: z.string().optional().describe('Why that batch was not cancelled, or not yet'),
      }),
    ),
  })
  .meta({ id: 'Cancellation' });
export type Cancellation = z.infer<typeof cancellation>;

export const explanation = z
  .object({
    id: z.string(),
    state: taskState,
    text: z.string().describe('One or two English sentences'),
    waitsFor: z.enum(WAITS_FOR).nullable(),
    nextStepInMs: z
      .number()
      .nullable()
      .describe('Earliest next step, in milliseconds; 0: now; null: unknown, or the task has ended'),
    servedBy: z
      .custom<ServedBy>()
      .meta({ type: 'object' })
      .optional()
      .describe('Only for an open task whose handler has affinity: the node that serves it, or why none does'),
    facts: z.custom<ExplainFacts>().meta({ type: 'object', description: 'Facts that the explanation is based on' }),
  })
  .meta({ id: 'Explanation' });

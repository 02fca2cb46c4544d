import { z } from 'zod';
import type { ExplainFacts, ServedBy } from '../planning/explain/facts';
import { WAITS_FOR } from '../planning/explain/facts';
import { TASK_STATES } from '../planning/states';
import { batchId, callback, count, namesOf, taskId, time } from './fields';

export const taskState = namesOf(TASK_STATES).describe(
  'succeeded, failed, dead and cancelled are ends; unknown waits for resolve',
);

export const taskInput = z
  .strictObject({
    id: taskId,
    payload: z
      .unknown()
      .refine((value) => value !== undefined, 'expected a value, got nothing')
      .describe('Any JSON that the schema of the handler takes'),
    notBefore: z
      .union([z.string().max(40), z.number().min(0).max(253_402_300_799_999)])
      .optional()
      .describe('Joins no batch before: ISO time or Unix milliseconds'),
    priority: z.number().int().min(-32_768).max(32_767).optional().describe('Lower goes first within a target'),
    callback: callback.optional(),
  })
  .meta({ id: 'TaskInput' });

/** One problem of one task of a call. */
const taskProblem = z
  .object({
    index: count.describe('Place in the call, from 0'),
    id: z.string().optional(),
    field: z.string(),
    code: z.string(),
    message: z.string(),
  })
  .meta({ id: 'TaskProblem' });

export const submitAnswer = z
  .object({
    accepted: count.describe('Newly stored: committed before this answer'),
    repeated: count.describe('Were there already with the same content'),
    refused: z.array(taskProblem).describe('With partial only'),
  })
  .meta({ id: 'SubmitAnswer' });

export const taskView = z
  .object({
    id: z.string(),
    handler: z.string(),
    target: z.string(),
    state: taskState,
    attempts: count.describe('Counted attempts so far; back pressure counts none'),
    batch: batchId.nullable().describe('The batch it is in, or in which it came to its end; null: in none'),
    createdAt: time,
    notBefore: time
      .optional()
      .describe("Joins no batch before: the caller's, or the backoff of a retry. Only while it waits for it"),
    priority: z.number().int(),
    payload: z.unknown(),
    result: z
      .unknown()
      .optional()
      .describe("The downstream's value for this task; only when succeeded, and only if it gave one"),
    resultNote: z
      .string()
      .optional()
      .describe(
        'What of the value could not be kept: characters replaced by U+FFFD, or the whole of it left out (then result is null)',
      ),
    error: z.string().nullable().optional().describe('Why it failed, died, is unknown or waits for another attempt'),
    finishedAt: time.optional().describe('Only in a terminal state'),
  })
  .meta({ id: 'Task' });
export type TaskView = z.infer<typeof taskView>;

export const cancellation = z
  .object({
    cancelled: z.array(z.string()),
    notCancelled: z.array(
      z.object({
        id: z.string(),
        state: z.union([taskState, z.literal('unknown id')]),
        batch: batchId.optional().describe('Of a lane: the batch that it is in'),
        why: z.string().optional().describe('Why that batch was not cancelled'),
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
    nextStepInMs: z.number().nullable().describe('Earliest, in milliseconds; 0: now; null: unknown, or it has ended'),
    servedBy: z
      .custom<ServedBy>()
      .meta({ type: 'object' })
      .optional()
      .describe('Only of an open task whose handler has affinity: which node serves it, or why none does'),
    facts: z.custom<ExplainFacts>().meta({ type: 'object', description: 'What it was decided from' }),
  })
  .meta({ id: 'Explanation' });

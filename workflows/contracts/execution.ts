import { z } from 'zod';
import { count, plainName, time } from './fields';
import { UUID } from '../planning/uuid';

/** The request as its users write it: snake_case, like the result document. */

const names = (max: number) => plainName(max);
const uuid = z.string().regex(UUID, 'expected a UUID');
export const executionId = uuid.describe('The request_id of its acceptance');

const config = z.strictObject({
  number_of_nodes: z.number().int().min(1).max(10_000).optional().describe('Waits for so many; default 1'),
  attributes: z.record(names(256), z.string().max(10_000)).optional().describe('Nodes must have these'),
  env_vars: z.record(names(256), z.string().max(100_000)).optional(),
  concurrency: z.number().int().min(1).max(1_000).optional().describe('Items of a chunk that a node runs at once'),
  rate_per_host: z
    .number()
    .gt(0)
    .max(1_000_000)
    .optional()
    .describe('Runs a second to one target host, over all nodes'),
  timeout_ms: z.number().int().min(1).max(86_400_000).optional().describe('One run may take so long'),
});

export const executeRequest = z
  .strictObject({
    template: z.strictObject({ function_id: names(512), method: names(512), config: config.optional() }),
    arguments: z
      .array(z.array(z.string()).max(10_000))
      .min(1)
      .max(1_000_000)
      .describe('One work item each: 100 lists are 100 items'),
    topic: names(256).optional().describe('Shown with the execution'),
    max_attempts: z
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe("Runs of an item; the operator's limit where it is lower, or where this is absent or 0"),
  })
  .meta({ id: 'ExecuteRequest' });
export type ExecuteRequest = z.infer<typeof executeRequest>;

export const executeAnswer = z
  .object({ request_id: executionId, message: z.string().optional() })
  .meta({ id: 'ExecuteAnswer' });

const executionState = z.enum(['staging', 'created', 'in-progress', 'done', 'cancelled']);
const itemCounts = z
  .object({ created: count, inProgress: count, done: count, failed: count, permanentlyFailed: count })
  .describe('Their sum is items');

export const executionView = z
  .object({
    id: executionId,
    functionId: z.string(),
    method: z.string(),
    config: z.object({
      numberOfNodes: count.optional(),
      attributes: z.record(z.string(), z.string()).optional(),
      envVars: z.record(z.string(), z.string()).optional(),
      concurrency: count.optional(),
      ratePerHost: z.number().optional(),
      timeoutMs: count.optional(),
    }),
    topic: z.string().nullable(),
    state: executionState,
    items: count,
    counts: itemCounts,
    attemptsLimit: count.nullable().describe('Runs of an item at most; null: no worker has looked at it yet'),
    round: count.describe('Rounds of chunks so far'),
    message: z
      .string()
      .nullable()
      .describe('What it waits for, and which nodes did not take or lost what they were given in the last round'),
    createdAt: time,
    startedAt: time.nullable(),
    finishedAt: time.nullable(),
  })
  .meta({ id: 'Execution' });
export type ExecutionView = z.infer<typeof executionView>;

export const executionProgress = z
  .object({
    state: executionState,
    items: count,
    counts: itemCounts,
    share: z.number().describe('Items that are done or permanently failed, of all: 0 to 1'),
  })
  .meta({ id: 'ExecutionProgress' });
export type ExecutionProgress = z.infer<typeof executionProgress>;

export const chunkView = z
  .object({
    id: uuid,
    node: z.string(),
    round: count,
    state: z.enum(['filling', 'ready', 'taken', 'done', 'closed']),
    items: count,
    open: count.describe('Not processed yet'),
    reason: z.enum(['undelivered', 'expired', 'returned', 'cancelled']).nullable(),
  })
  .meta({ id: 'Chunk' });
export type ChunkView = z.infer<typeof chunkView>;

export const workItemView = z
  .object({
    position: count,
    state: z.enum(['created', 'in-progress', 'done', 'failed', 'permanently-failed']),
    attempts: count,
    contentId: z.string().describe('Md5 in hex'),
    copy: count.describe('Which of the items with this content it is'),
    chunk: uuid.nullable(),
    arguments: z.array(z.string()),
    exitCode: z.number().int().nullable(),
    stdout: z.string().nullable(),
    stderr: z.string().nullable(),
  })
  .meta({ id: 'WorkItem' });
export type WorkItemView = z.infer<typeof workItemView>;

const resultEntry = z
  .object({
    result: z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.number().int().nullable() }),
    function_invocation: z.string().describe('function_id/method'),
    arguments: z.array(z.string()),
  })
  .meta({ id: 'ResultEntry' });
export type ResultEntry = z.infer<typeof resultEntry>;

const resultDocument = z
  .object({
    chunks: z
      .record(z.string(), z.object({ peer: z.string(), results: z.record(z.string(), resultEntry) }))
      .describe('By chunk id; results by content id, copies after the first under <md5>#2, #3'),
    code: z.string(),
    request_id: executionId,
    message: z.string().optional(),
  })
  .meta({ id: 'ResultDocument' });
export type ResultDocument = z.infer<typeof resultDocument>;

/** A page of the result document: the same form, and where the next page begins. */
export const resultPage = resultDocument
  .extend({ next: z.string().optional().describe('Give it as `after` for the next page; left out: this was the last') })
  .meta({ id: 'ResultPage' });
export type ResultDocumentPage = z.infer<typeof resultPage>;

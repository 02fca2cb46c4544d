import { z } from 'zod';
import { count, plainName, time } from './fields';
import { ANSWER_CODES } from '../planning/executions/rollCall';
import { ALL_NODES, MAX_NODES } from '../planning/executions/chunks';
import { UUID } from '../planning/uuid';

/** The request as callers of the HTTP API write it: in snake_case, like the result document. */

const names = (max: number) => plainName(max);
const uuid = z.string().regex(UUID, 'expected a UUID');
export const executionId = uuid.describe('request_id returned on acceptance');

const NODES = 'expected -1 (every node that answers) or a whole number from 1 to 10,000';
const config = z.strictObject({
  number_of_nodes: z
    .union([z.literal(ALL_NODES), z.number().int(NODES).min(1, NODES).max(MAX_NODES, NODES)], NODES)
    .optional()
    .describe('Number of nodes to wait for; -1, or absent: every node that answers the roll call'),
  attributes: z.record(names(256), z.string().max(10_000)).optional().describe('Attributes that a node must have'),
  env_vars: z.record(names(256), z.string().max(100_000)).optional(),
  concurrency: z.number().int().min(1).max(1_000).optional().describe('Items of a chunk that one node runs at once'),
  rate_per_host: z
    .number()
    .gt(0)
    .max(1_000_000)
    .optional()
    .describe('Maximum runs per second to one target host, over all nodes'),
  timeout_ms: z.number().int().min(1).max(86_400_000).optional().describe('Time limit of one run'),
});

export const executeRequest = z
  .strictObject({
    template: z.strictObject({ function_id: names(512), method: names(512), config: config.optional() }),
    arguments: z
      .array(z.array(z.string()).max(10_000))
      .min(1)
      .max(1_000_000)
      .describe('One work item per list: 100 lists are 100 items'),
    topic: names(256).optional().describe('Only nodes that subscribe to it are asked; absent: all nodes'),
    max_attempts: z
      .number()
      .int()
      .min(0)
      .max(1_000_000)
      .optional()
      .describe("Maximum runs per item; the operator's limit applies if it is lower, or if this is absent or 0"),
  })
  .meta({ id: 'ExecuteRequest' });
export type ExecuteRequest = z.infer<typeof executeRequest>;

export const executeAnswer = z
  .object({
    request_id: executionId,
    code: z
      .enum(ANSWER_CODES)
      .describe(
        '202: nodes can run it now. 404: no node that answers has the function, so its items will fail. 503: no node answers now, so it waits for one',
      ),
    message: z.string().describe('The same as text, with the remedy'),
  })
  .meta({ id: 'ExecuteAnswer' });

const executionState = z.enum(['staging', 'created', 'in-progress', 'done', 'cancelled']);
const itemCounts = z
  .object({ created: count, inProgress: count, done: count, failed: count, permanentlyFailed: count })
  .describe('The counts add up to items');

export const executionView = z
  .object({
    id: executionId,
    functionId: z.string(),
    method: z.string(),
    config: z.object({
      numberOfNodes: z.number().int().min(ALL_NODES).optional().describe('-1, or absent: every node that answers'),
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
    attemptsLimit: count.nullable().describe('Maximum runs per item; null: no worker has started the execution yet'),
    round: count.describe('Number of rounds of chunks so far'),
    message: z
      .string()
      .nullable()
      .describe(
        'What the execution is waiting for, and the nodes that did not take, or lost, their chunk of the last round',
      ),
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
    share: z.number().describe('Share of items that are done or permanently failed, 0 to 1'),
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

const usage = {
  wall: z.number().describe('Run time in ms'),
  cpu: z.number().nullable().describe('Processor time in ms; null: the executor cannot tell'),
  memory: count.nullable().describe('Memory of a WebAssembly module; null: the executor cannot tell'),
  bytes: count.describe('Bytes written, including those that were cut off'),
};
const metadata = z
  .record(z.string(), z.string())
  .describe('What the function or the HTTP answer reported: at most 32 texts, 4,096 bytes as JSON');

export const workItemView = z
  .object({
    position: count,
    state: z.enum(['created', 'in-progress', 'done', 'failed', 'permanently-failed']),
    attempts: count,
    contentId: z.string().describe('MD5 of the content, in hex'),
    copy: count.describe('Number of this item among items with the same content'),
    chunk: uuid.nullable(),
    arguments: z.array(z.string()),
    exitCode: z.number().int().nullable(),
    stdout: z.string().nullable(),
    stderr: z.string().nullable(),
    usage: z
      .object({
        wallMs: usage.wall,
        cpuMs: usage.cpu,
        memoryBytes: usage.memory,
        stdoutBytes: usage.bytes,
        stderrBytes: usage.bytes,
      })
      .nullable()
      .describe('Resources that the last run used; null: not known'),
    metadata: metadata.nullable(),
  })
  .meta({ id: 'WorkItem' });
export type WorkItemView = z.infer<typeof workItemView>;

const resultEntry = z
  .object({
    result: z.object({
      stdout: z.string(),
      stderr: z.string(),
      exit_code: z.number().int().nullable(),
      usage: z
        .object({
          wall_ms: usage.wall,
          cpu_ms: usage.cpu,
          memory_bytes: usage.memory,
          stdout_bytes: usage.bytes,
          stderr_bytes: usage.bytes,
        })
        .nullable()
        .describe('Null: not known'),
      metadata,
    }),
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

/** A page of the result document, which has the same form, and where the next page begins. */
export const resultPage = resultDocument
  .extend({ next: z.string().optional().describe('Pass it as `after` to get the next page; absent on the last page') })
  .meta({ id: 'ResultPage' });
export type ResultDocumentPage = z.infer<typeof resultPage>;

import { z } from 'zod';

/**
 * What crosses a process between workflows, activities and client. Workflows import these types
 * only: zod stays out of the sandbox.
 */

export const leaderInput = z.object({
  leaderId: z.number().int(),
  handler: z.string(),
  /** The set's name: `0`..`n-1`, or the target's key with `leaders: 'target'`. */
  name: z.string(),
  /** The store that it is of: another one's leader may have the same number. */
  installation: z.string().optional(),
  /** Of the wake that started the run: it need not look before. */
  dueInMs: z.number().min(0).default(0),
  /**
   * Turns after which the run continues as new when nothing is in flight, and events after which it
   * is made to; tests lower them.
   */
  turnsPerRun: z.number().int().positive().optional(),
  mostEvents: z.number().int().positive().optional(),
});
export type LeaderInput = z.infer<typeof leaderInput>;

export const turnInput = z.object({
  leaderId: z.number().int(),
  /** Whom the run takes itself for; absent: of a run begun by an earlier version. */
  handler: z.string().optional(),
  name: z.string().optional(),
  installation: z.string().optional(),
  runId: z.string(),
  runStartedAtMs: z.number(),
  /** The workflow's decision number; a repeat of one writes nothing (DESIGN section 4.3). */
  turn: z.number().int().positive(),
  /** Submissions in flight that the workflow knows. */
  live: z.array(z.number().int()),
  /** False: only look, start nothing (draining before continue-as-new). */
  mayClaim: z.boolean(),
  /** Answer what waits too: for the Web UI, now and then. */
  backlog: z.boolean().optional(),
});
export type TurnInput = z.infer<typeof turnInput>;

export const turnAnswer = z.object({
  /** Another, later run leads: this one must end. */
  deposed: z.boolean(),
  /**
   * The store has no such leader: it was made anew or restored, or is another one than the run's.
   * This run must end; the next wake says who it is.
   */
  foreign: z.literal(true).optional(),
  epoch: z.number().int(),
  /** The submission to start now. */
  dispatch: z
    .object({
      no: z.number().int(),
      batches: z.number().int(),
      tasks: z.number().int(),
      slots: z.number().int(),
      /**
       * Longest that one of its calls may take: the handler's own limit. Missing in answers of an
       * older version.
       */
      callTimeoutMs: z.number().optional(),
      /**
       * Of a handler with affinity: the node that holds the leader's partition, whose own queue it
       * goes to.
       */
      serving: z.object({ id: z.string(), epoch: z.number().int(), node: z.string(), leaseMs: z.number() }).optional(),
    })
    .nullable(),
  /** More can be claimed at once. */
  again: z.boolean(),
  next: z.enum(['idle', 'working', 'waiting']),
  /** With `waiting`: look again after this long. */
  dueInMs: z.number().nullable(),
  lastReason: z.string().nullable(),
  /** Why due work is not claimed, for the Web UI. */
  heldBy: z.string().nullable(),
  /** What waits, when asked for; counted up to `MOST_COUNTED`. */
  backlog: z.object({ targets: z.number().int(), tasks: z.number().int() }).optional(),
});
export type TurnAnswer = z.infer<typeof turnAnswer>;

export const dispatchInput = z.object({
  leaderId: z.number().int(),
  handler: z.string(),
  epoch: z.number().int(),
  no: z.number().int(),
  slots: z.number().int(),
  /** Of a queuer's submitter: its batches are granted, not claimed. */
  queuerId: z.number().int().optional(),
  /** Of a handler with affinity, in no lane: it is sent under this epoch, or not at all. */
  partition: z.object({ id: z.string(), epoch: z.number().int() }).optional(),
});
export type DispatchInput = z.infer<typeof dispatchInput>;

export const dispatchAnswer = z.object({
  batches: z.number().int(),
  tasks: z.number().int(),
  handedBack: z.number().int(),
  /**
   * The submission's last transaction published the leader idle: nothing is left, the run may end.
   */
  released: z.boolean(),
});
export type DispatchAnswer = z.infer<typeof dispatchAnswer>;

export const queuerInput = z.object({
  queuerId: z.number().int(),
  /**
   * Turns after which the run continues as new when nothing is in flight, and events after which it
   * is made to; tests lower them.
   */
  turnsPerRun: z.number().int().positive().optional(),
  mostEvents: z.number().int().positive().optional(),
});
export type QueuerInput = z.input<typeof queuerInput>;

/** A queuer's turn: as a leader's. */
export const grantInput = turnInput
  .omit({ leaderId: true, handler: true, name: true, installation: true })
  .extend({ queuerId: z.number().int() });
export type GrantInput = z.infer<typeof grantInput>;

export const grantAnswer = turnAnswer.omit({ dispatch: true, lastReason: true, backlog: true }).extend({
  /** The submitters to start now, each with the batches of its slots granted. */
  submitters: z.array(
    z.object({
      no: z.number().int(),
      handler: z.string(),
      slots: z.number().int(),
      batches: z.number().int(),
      callTimeoutMs: z.number().optional(),
      /** Of lanes in partitions: the node that holds those. */
      serving: z.object({ node: z.string(), leaseMs: z.number() }).optional(),
    }),
  ),
});
export type GrantAnswer = z.infer<typeof grantAnswer>;

export const balancerInput = z.object({
  /** Rounds after which the run continues as new; tests lower it. */
  turnsPerRun: z.number().int().positive().optional(),
});
export type BalancerInput = z.input<typeof balancerInput>;

/** One round of the balancer (B1). */
export const balanceInput = z.object({ runId: z.string(), turn: z.number().int().positive() });
export type BalanceInput = z.infer<typeof balanceInput>;

export const balanceAnswer = z.object({
  epoch: z.number().int(),
  partitions: z.number().int(),
  nodes: z.number().int(),
  held: z.number().int(),
  /** Asked back and not yet given up. */
  waiting: z.number().int(),
  /** Asked back or given out in this round. */
  moved: z.number().int(),
  /** The last ones of all, whoever ran their round, newest first: for people. */
  last: z.array(z.string()),
  /** Look again after so long; null: when somebody says so. */
  dueInMs: z.number().nullable(),
});
export type BalanceAnswer = z.infer<typeof balanceAnswer>;

/**
 * Batch execution: the messages of `spec/execution.md`, each with its response. `ExecuteBatch`
 * comes from a caller, the others stay inside.
 */

/** What is run: one function, on nodes with these attributes, with these variables (E1). */
export const executionTemplate = z.object({
  functionId: z.string(),
  method: z.string(),
  config: z.object({
    numberOfNodes: z.number().int().positive().optional(),
    attributes: z.record(z.string(), z.string()).optional(),
    envVars: z.record(z.string(), z.string()).optional(),
    /** Items of a chunk that a node runs at once; default the node's own, 1. */
    concurrency: z.number().int().positive().optional(),
    /**
     * Runs a second to one host (of the first argument that is a URL), over all nodes together;
     * default: no limit.
     */
    ratePerHost: z.number().positive().optional(),
    /** One run may take this long; default the node's own, 60 s. */
    timeoutMs: z.number().int().positive().optional(),
  }),
});
export type ExecutionTemplate = z.infer<typeof executionTemplate>;

export const executeBatch = executionTemplate.extend({
  topic: z.string().optional(),
  maxAttempts: z.number().int().min(0).optional(),
});
export type ExecuteBatch = z.infer<typeof executeBatch>;
/** At once, while nothing has run yet (E2). */
export interface ExecuteBatchResponse {
  requestId: string;
}

export const executionInput = z.object({
  executionId: z.string(),
  /** A start after a restart of the workers: nodes get this long to come back (E7). */
  resumeAfterMs: z.number().min(0).default(0),
  /** Turns after which the run continues as new; tests lower it. */
  turnsPerRun: z.number().int().positive().default(500),
});
export type ExecutionInput = z.input<typeof executionInput>;

/** A turn of an execution's workflow. */
export const rollCall = z.object({
  /** Nodes are asked for batch support; those without are not considered (E3). */
  batch: z.literal(true),
  executionId: z.string(),
  runId: z.string(),
  runStartedAtMs: z.number(),
  turn: z.number().int().positive(),
  /** Chunks whose activity the workflow has running, and those that never reached their node. */
  running: z.array(z.string()),
  undelivered: z.array(z.string()),
  rollCallOver: z.boolean(),
  mayPlan: z.boolean(),
});
export type RollCall = z.infer<typeof rollCall>;

export interface RollCallResponse {
  next: 'over' | 'deposed' | 'again' | 'wait' | 'roll-call' | 'no-nodes';
  /** To be sent to their nodes now. */
  chunks: { id: string; node: string; items: number }[];
  /** This turn planned a new round. */
  planned: boolean;
  counts: { created: number; inProgress: number; done: number; failed: number; permanentlyFailed: number };
  round: number;
  note: string | null;
  /** Look again after this long: a chunk of an earlier run is leased until then; null: no such. */
  dueInMs: number | null;
  settings: { rollCallMs: number; requeueMs: number; retryBaseMs: number; leaseMs: number };
}

/** To a node: run this chunk. */
export const workOrderBatch = z.object({ chunkId: z.string() });
export type WorkOrderBatch = z.infer<typeof workOrderBatch>;
export interface WorkOrderBatchResponse {
  /** False: the chunk was closed, or taken before, and nothing was run. */
  taken: boolean;
  done: number;
  failed: number;
  /** Not run, and created again: the node stops, or had lost its lease. */
  returned: number;
  /** Results that were refused since the chunk was not its any more. */
  refused: number;
  /**
   * Of the execution after its last result: what a new round would take, and whether it is over.
   */
  pending: number;
  over: boolean;
}

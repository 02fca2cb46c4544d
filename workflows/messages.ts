/**
 * What crosses a process between workflows, activities and client: plain types, which also workflow
 * code may import.
 */

export interface LeaderInput {
  leaderId: number;
  handler: string;
  /** The set's name: `0`..`n-1`, or the target's key with `leaders: 'target'`. */
  name: string;
  /** The store that it is of: another one's leader may have the same number. */
  installation?: string;
  /** Of the wake that started the run: it need not look before. */
  dueInMs: number;
  /**
   * Turns after which the run continues as new when nothing is in flight, and events after which it
   * is made to; tests lower them.
   */
  turnsPerRun?: number;
  mostEvents?: number;
}

export interface TurnInput {
  leaderId: number;
  /** Whom the run takes itself for; absent: of a run begun by an earlier version. */
  handler?: string;
  name?: string;
  installation?: string;
  runId: string;
  runStartedAtMs: number;
  /**
   * The workflow's decision number, from 1; a repeat of one writes nothing (DESIGN section 4.3).
   */
  turn: number;
  /** Submissions in flight that the workflow knows. */
  live: number[];
  /** False: only look, start nothing (draining before continue-as-new). */
  mayClaim: boolean;
  /** Answer what waits too: for the Web UI, now and then. */
  backlog?: boolean;
}

export interface TurnAnswer {
  /** Another, later run leads: this one must end. */
  deposed: boolean;
  /**
   * The store has no such leader: it was made anew or restored, or is another one than the run's.
   * This run must end; the next wake says who it is.
   */
  foreign?: true;
  epoch: number;
  /** The submission to start now. */
  dispatch: {
    no: number;
    batches: number;
    tasks: number;
    slots: number;
    /**
     * Longest that one of its calls may take: the handler's own limit. Missing in answers of an
     * older version.
     */
    callTimeoutMs?: number;
    /**
     * Of a handler with affinity: the node that holds the leader's partition, whose own queue it
     * goes to.
     */
    serving?: { id: string; epoch: number; node: string; leaseMs: number };
  } | null;
  /** More can be claimed at once. */
  again: boolean;
  next: 'idle' | 'working' | 'waiting';
  /** With `waiting`: look again after this long. */
  dueInMs: number | null;
  lastReason: string | null;
  /** Why due work is not claimed, for the Web UI. */
  heldBy: string | null;
  /** What waits, when asked for; counted up to `MOST_COUNTED`. */
  backlog?: { targets: number; tasks: number };
}

export interface DispatchInput {
  leaderId: number;
  handler: string;
  epoch: number;
  no: number;
  slots: number;
  /** Of a queuer's submitter: its batches are granted, not claimed. */
  queuerId?: number;
  /** Of a handler with affinity, in no lane: it is sent under this epoch, or not at all. */
  partition?: { id: string; epoch: number };
}

export interface DispatchAnswer {
  batches: number;
  tasks: number;
  handedBack: number;
  /**
   * The submission's last transaction published the leader idle: nothing is left, the run may end.
   */
  released: boolean;
}

export interface QueuerInput {
  queuerId: number;
  /**
   * Turns after which the run continues as new when nothing is in flight, and events after which it
   * is made to; tests lower them.
   */
  turnsPerRun?: number;
  mostEvents?: number;
}

/** A queuer's turn: as a leader's. */
export interface GrantInput extends Omit<TurnInput, 'leaderId' | 'handler' | 'name' | 'installation'> {
  queuerId: number;
}

export interface GrantAnswer extends Omit<TurnAnswer, 'dispatch' | 'lastReason' | 'backlog'> {
  /** The submitters to start now, each with the batches of its slots granted. */
  submitters: {
    no: number;
    handler: string;
    slots: number;
    batches: number;
    callTimeoutMs?: number;
    /** Of lanes in partitions: the node that holds those. */
    serving?: { node: string; leaseMs: number };
  }[];
}

export interface BalancerInput {
  /** Rounds after which the run continues as new; tests lower it. */
  turnsPerRun?: number;
}

/** One round of the balancer (B1). */
export interface BalanceInput {
  runId: string;
  /** From 1. */
  turn: number;
}

export interface BalanceAnswer {
  epoch: number;
  partitions: number;
  nodes: number;
  held: number;
  /** Asked back and not yet given up. */
  waiting: number;
  /** Asked back or given out in this round. */
  moved: number;
  /** The last ones of all, whoever ran their round, newest first: for people. */
  last: string[];
  /** Look again after so long; null: when somebody says so. */
  dueInMs: number | null;
}

/**
 * Batch execution: the messages of `spec/execution.md`. `ExecuteBatch` comes from a caller, the
 * others stay inside.
 */

/** What is run: one function, on nodes with these attributes, with these variables (E1). */
export interface ExecutionTemplate {
  functionId: string;
  method: string;
  config: {
    numberOfNodes?: number;
    attributes?: Record<string, string>;
    envVars?: Record<string, string>;
    /** Items of a chunk that a node runs at once; default the node's own, 1. */
    concurrency?: number;
    /**
     * Runs a second to one host (of the first argument that is a URL), over all nodes together;
     * default: no limit.
     */
    ratePerHost?: number;
    /** One run may take this long; default the node's own, 60 s. */
    timeoutMs?: number;
  };
}

export interface ExecuteBatch extends ExecutionTemplate {
  topic?: string;
  maxAttempts?: number;
}

export interface ExecutionInput {
  executionId: string;
  /** A start after a restart of the workers: nodes get this long to come back (E7). Absent: 0. */
  resumeAfterMs?: number;
  /** Turns after which the run continues as new; tests lower it. */
  turnsPerRun?: number;
}

/** A turn of an execution's workflow. */
export interface RollCall {
  /** Nodes are asked for batch support; those without are not considered (E3). */
  batch: true;
  executionId: string;
  runId: string;
  runStartedAtMs: number;
  /** From 1. */
  turn: number;
  /** Chunks whose activity the workflow has running, and those that never reached their node. */
  running: string[];
  undelivered: string[];
  rollCallOver: boolean;
  mayPlan: boolean;
}

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
export interface WorkOrderBatch {
  chunkId: string;
}
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

/**
 * The messages between workflows, activities and client: plain types, which workflow code may
 * import.
 */

/** Type of the failure of a turn that a worker refuses because it is stopping. */
export const WORKER_STOPPING = 'WorkerStopping';

export interface LeaderInput {
  leaderId: number;
  handler: string;
  /** The set's name: `0`..`n-1`, or the target's key with `leaders: 'target'`. */
  name: string;
  /** The store that has the leader: another store's leader may have the same number. */
  installation?: string;
  /** Due time in the wake that started the run: it need not look before. */
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
  /** The leader that the run was started for; absent in a run begun by an earlier version. */
  handler?: string;
  name?: string;
  installation?: string;
  runId: string;
  runStartedAtMs: number;
  /**
   * The workflow's decision number, from 1: a repeated turn writes nothing and gets the first one's
   * answer.
   */
  turn: number;
  /** Dispatches in flight that the workflow knows. */
  live: number[];
  /** False: only look, start nothing (draining before continue-as-new). */
  mayClaim: boolean;
  /** Also count what waits: for the Web UI, now and then. */
  backlog?: boolean;
}

export interface TurnAnswer {
  /** A later run leads: this one must end. */
  deposed: boolean;
  /**
   * The store has no such leader: the store was recreated or restored, or is not the one that the
   * run was started for. This run must end; the next wake names the right leader.
   */
  foreign?: true;
  epoch: number;
  /** The dispatch to start now. */
  dispatch: {
    no: number;
    batches: number;
    tasks: number;
    slots: number;
    /**
     * Longest that one of its calls may take: the handler's limit. Missing in answers of an older
     * version.
     */
    callTimeoutMs?: number;
    /**
     * For a handler with affinity: the node that holds the leader's partition, and to whose queue
     * the dispatch goes.
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
  /** What waits, if requested; counted up to `MOST_COUNTED`. */
  backlog?: { targets: number; tasks: number };
}

export interface DispatchInput {
  leaderId: number;
  handler: string;
  epoch: number;
  no: number;
  slots: number;
  /** For a queuer's submitter: its batches are granted, not claimed. */
  queuerId?: number;
  /** For a handler with affinity outside of lanes: it is sent under this epoch, or not at all. */
  partition?: { id: string; epoch: number };
}

export interface DispatchAnswer {
  batches: number;
  tasks: number;
  handedBack: number;
  /**
   * The dispatch's last transaction published the leader as idle: nothing is left, the run may end.
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

/** A queuer's turn, in the form of a leader's. */
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
    /** For lanes in partitions: the node that holds those. */
    serving?: { node: string; leaseMs: number };
    /** Longest that its activity waits for a worker; absent from a worker of an older version. */
    startLimitMs?: number;
  }[];
}

export interface BalancerInput {
  /** Rounds after which the run continues as new; tests lower it. */
  turnsPerRun?: number;
}

/** One round of the balancer. */
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
  /** Partitions asked back and not yet given up. */
  waiting: number;
  /** Partitions asked back or given out in this round. */
  moved: number;
  /** The last moves of all rounds, newest first: for operators. */
  last: string[];
  /** Look again after this long; null: when a signal comes. */
  dueInMs: number | null;
}

/** The messages of batch execution. `ExecuteBatch` comes from a caller, the others stay inside. */

/** What is run: one function, on nodes with these attributes, with these variables. */
export interface ExecutionTemplate {
  functionId: string;
  method: string;
  config: {
    numberOfNodes?: number;
    attributes?: Record<string, string>;
    envVars?: Record<string, string>;
    /** Items of a chunk that a node runs at once; default the node's setting, 1. */
    concurrency?: number;
    /**
     * Runs per second to one host (of the first argument that is a URL), over all nodes together;
     * default: no limit.
     */
    ratePerHost?: number;
    /** Longest that one run may take; default the node's setting, 60 s. */
    timeoutMs?: number;
  };
}

export interface ExecuteBatch extends ExecutionTemplate {
  topic?: string;
  maxAttempts?: number;
}

export interface ExecutionInput {
  executionId: string;
  /** For a start after a restart of the workers: how long nodes get to come back. Absent: 0. */
  resumeAfterMs?: number;
  /** Turns after which the run continues as new; tests lower it. */
  turnsPerRun?: number;
}

/** A turn of an execution's workflow. */
export interface RollCall {
  /** Only nodes with batch support are considered. */
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
  /** Chunks to be sent to their nodes now. */
  chunks: { id: string; node: string; items: number }[];
  /** This turn planned a new round. */
  planned: boolean;
  counts: { created: number; inProgress: number; done: number; failed: number; permanentlyFailed: number };
  round: number;
  note: string | null;
  /**
   * Look again after this long, when the lease of a chunk of an earlier run ends; null: there is
   * none.
   */
  dueInMs: number | null;
  settings: { rollCallMs: number; requeueMs: number; retryBaseMs: number; leaseMs: number };
}

/** Tells a node to run this chunk. */
export interface WorkOrderBatch {
  chunkId: string;
}
export interface WorkOrderBatchResponse {
  /** False: the chunk was closed, or taken before, and nothing was run. */
  taken: boolean;
  done: number;
  failed: number;
  /** Items not run, and created again: the node stops, or had lost its lease. */
  returned: number;
  /** Results that were refused because the chunk was not the node's any more. */
  refused: number;
  /**
   * State of the execution after its last result: how many items a new round would take, and
   * whether it has ended.
   */
  pending: number;
  over: boolean;
}

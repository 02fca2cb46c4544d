/**
 * The messages between workflows, activities and clients: plain types, which workflow code may
 * import.
 */

/** Type of the failure by which a stopping worker refuses a turn. */
export const WORKER_STOPPING = 'WorkerStopping';

export interface LeaderInput {
  leaderId: number;
  handler: string;
  /**
   * The name of the leader's set of targets: `0`..`n-1`, or the target's key with `leaders:
   * 'target'`.
   */
  name: string;
  /** The store to which the leader belongs: a leader of another store may have the same number. */
  installation?: string;
  /** Milliseconds from the wake that started the run until it has to look. */
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
  /** The leader for which the run was started; absent in a run that an earlier version started. */
  handler?: string;
  name?: string;
  installation?: string;
  runId: string;
  runStartedAtMs: number;
  /**
   * The number of the turn in its run, from 1. A turn that is repeated writes nothing, and gets the
   * answer of the first try.
   */
  turn: number;
  /** Numbers of the dispatches that the workflow has in progress. */
  live: number[];
  /** False: only look and start nothing, since the run is draining before it continues as new. */
  mayClaim: boolean;
  /** Count the waiting work too, for the Web UI. Set now and then. */
  backlog?: boolean;
  /** Absent in turns of an older version. */
  seen?: Seen;
}

/**
 * What a run had seen when it began a turn. The turn answers with it, and the run goes on by the
 * answer: a worker that was stopped for longer than a workflow task may take is handed the run's
 * next task in the middle of the turn, and with it the signals that a replay has before the turn.
 * What else may come so is rare, and costs the run: the next one continues
 * (docs/internals/decisions/0012-no-barrier-before-a-turn.md).
 */
export interface Seen {
  /** How many wakes had arrived. */
  looks: number;
  /**
   * How many of its activities had ended. In an execution: lost chunks of which no turn had been
   * told.
   */
  ended: number;
}

export interface TurnAnswer {
  /** A later run leads, so that this one must end. */
  deposed: boolean;
  /**
   * The store has no such leader: it was recreated or restored, or is not the store for which the
   * run was started. This run must end; the next wake names the right leader.
   */
  foreign?: true;
  epoch: number;
  /** The dispatch to start now; null: none. */
  dispatch: {
    no: number;
    batches: number;
    tasks: number;
    slots: number;
    /**
     * Most milliseconds that one of its calls may take, by the handler's limit. Missing in answers
     * of an older version.
     */
    callTimeoutMs?: number;
    /**
     * For a handler with affinity: the node that holds the leader's partition. The dispatch goes to
     * that node's task queue.
     */
    serving?: { id: string; epoch: number; node: string; leaseMs: number };
  } | null;
  /** More can be claimed at once: take another turn. */
  again: boolean;
  next: 'idle' | 'working' | 'waiting';
  /** With `waiting`: milliseconds until the next look. */
  dueInMs: number | null;
  lastReason: string | null;
  /** What kept the turn from claiming due work, for the Web UI; null: nothing. */
  heldBy: string | null;
  /** The waiting work, if requested; counted up to `MOST_COUNTED`. */
  backlog?: { targets: number; tasks: number };
  seen?: Seen;
}

export interface DispatchInput {
  leaderId: number;
  handler: string;
  epoch: number;
  no: number;
  slots: number;
  /** For a queuer's submitter, whose batches are granted, not claimed. */
  queuerId?: number;
  /**
   * For a handler with affinity outside of lanes: the batches are sent under this epoch, or not at
   * all.
   */
  partition?: { id: string; epoch: number };
}

export interface DispatchAnswer {
  batches: number;
  tasks: number;
  handedBack: number;
  /**
   * The dispatch's last transaction published the leader as idle: nothing is left, and the run may
   * end.
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

/** Input of a queuer's turn, in the form of a leader's. */
export interface GrantInput extends Omit<TurnInput, 'leaderId' | 'handler' | 'name' | 'installation'> {
  queuerId: number;
}

export interface GrantAnswer extends Omit<TurnAnswer, 'dispatch' | 'lastReason' | 'backlog'> {
  /** The submitters to start now. The first batches of their slots are granted already. */
  submitters: {
    no: number;
    handler: string;
    slots: number;
    batches: number;
    callTimeoutMs?: number;
    /** For lanes in partitions: the node that holds the partitions. */
    serving?: { node: string; leaseMs: number };
    /**
     * Most milliseconds that its activity waits for a worker; absent in answers of an older
     * version.
     */
    startLimitMs?: number;
  }[];
}

export interface BalancerInput {
  /** Rounds after which the run continues as new; tests lower this. */
  turnsPerRun?: number;
}

/** Input of a round of the balancer. */
export interface BalanceInput {
  runId: string;
  /** From 1. */
  turn: number;
  seen?: Seen;
}

export interface BalanceAnswer {
  epoch: number;
  partitions: number;
  nodes: number;
  held: number;
  /** How many partitions are revoked and not yet given up. */
  waiting: number;
  /** How many partitions this round revoked or assigned. */
  moved: number;
  /** The last moves of all rounds, newest first: for operators. */
  last: string[];
  /** Milliseconds until the next round; null: it waits for a signal. */
  dueInMs: number | null;
  seen?: Seen;
}

/** The messages of executions. `ExecuteBatch` comes from a caller; the others are internal. */

/**
 * What an execution runs: one function, on nodes with these attributes, with these environment
 * variables.
 */
export interface ExecutionTemplate {
  functionId: string;
  method: string;
  config: {
    numberOfNodes?: number;
    attributes?: Record<string, string>;
    envVars?: Record<string, string>;
    /**
     * How many items of a chunk a node runs at once; default: the node's setting, which is 1 by
     * default.
     */
    concurrency?: number;
    /**
     * Most runs per second to one host (that of the first argument that is a URL), over all nodes
     * together; default: no limit.
     */
    ratePerHost?: number;
    /**
     * Most milliseconds that one run may take; default: the node's setting, which is 60 s by
     * default.
     */
    timeoutMs?: number;
  };
}

export interface ExecuteBatch extends ExecutionTemplate {
  topic?: string;
  maxAttempts?: number;
}

export interface ExecutionInput {
  executionId: string;
  /** After a restart of the workers: how many milliseconds nodes get to come back. Absent: 0. */
  resumeAfterMs?: number;
  /** Turns after which the run continues as new; tests lower this. */
  turnsPerRun?: number;
}

/** Input of a turn of an execution. */
export interface RollCall {
  /** Only nodes with batch support are considered. */
  batch: true;
  executionId: string;
  runId: string;
  runStartedAtMs: number;
  /** From 1. */
  turn: number;
  /**
   * Ids of the chunks whose activity is in progress, and of those whose activity has failed since
   * the last turn.
   */
  running: string[];
  undelivered: string[];
  rollCallOver: boolean;
  mayPlan: boolean;
  seen?: Seen;
}

export interface RollCallResponse {
  next: 'over' | 'deposed' | 'again' | 'wait' | 'roll-call' | 'no-nodes';
  /** The chunks to send to their nodes now. */
  chunks: { id: string; node: string; items: number }[];
  /** This turn planned a new round. */
  planned: boolean;
  counts: { created: number; inProgress: number; done: number; failed: number; permanentlyFailed: number };
  round: number;
  note: string | null;
  /**
   * Milliseconds until the lease of a chunk of an earlier run ends; null: there is no such chunk.
   */
  dueInMs: number | null;
  settings: { rollCallMs: number; requeueMs: number; retryBaseMs: number; leaseMs: number };
  seen?: Seen;
}

/** Tells a node to run a chunk. */
export interface WorkOrderBatch {
  chunkId: string;
}
export interface WorkOrderBatchResponse {
  /** False: nothing was run, since the chunk was closed or had been taken before. */
  taken: boolean;
  done: number;
  failed: number;
  /**
   * How many items were not run and are `created` again, since the node is stopping or had lost its
   * lease.
   */
  returned: number;
  /** How many results were refused, since the node no longer held the chunk. */
  refused: number;
  /**
   * The execution after the chunk's last result: how many items a new round would take, and whether
   * the execution has ended.
   */
  pending: number;
  over: boolean;
}

import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal } from '@temporalio/workflow';
import { FANOUT_ENDED, TASKS_ENDED } from './planning/callbacks/workflows';
import type { UnreadRun } from './planning/unread';

/** The signals and queries of Muster's workflows, with their contents. */

/**
 * Tells a workflow to look at the store. It is a signal, because the sender needs no answer and the
 * store holds the data. It is sent with start, so that a closed workflow is started.
 */
export const lookSignal = defineSignal('look');

/**
 * Reports to a handler's monitor the outcome of a batch that the downstream accepted. It is a
 * signal, because the sender (another workflow, or a client in any language) needs no reply, and
 * because the server must keep it until a worker handles it, even while no worker and no monitor
 * runs. Send it with start: workflow type `monitor`, id `<prefix>/monitor/<handler>`, task queue
 * `<prefix>`.
 *
 * Send at most 1,000 results and 1 MB per signal, and at most about 20 MB or 5,000 signals at once.
 * A history keeps them, and a server ends a run of 50 MB, and refuses the 10,001st signal. More
 * completions at once can be sent as workflows of type `completion`, and larger ones by
 * `client.complete` or the HTTP callback. Those also return the result.
 */
export const completeSignal = defineSignal<[CompletionSignal]>('complete');

/**
 * A completion. Exactly one of `reference` and `batchId` must be given. `results` are those that a
 * handler's `submit` returns, as plain JSON.
 */
export interface CompletionSignal {
  reference?: string;
  batchId?: number;
  /** Default `done`. */
  status?: 'done' | 'expired' | 'failed';
  results?: {
    id?: string;
    index?: number;
    status: 'ok' | 'retry' | 'failed' | 'unknown';
    result?: unknown;
    error?: string;
    retryAfterMs?: number;
  }[];
  error?: string;
}
/**
 * Input of a workflow of type `completion`: a completion with its handler. Each such workflow has a
 * history of its own, so that any number may be started at once, and the starter gets the result.
 */
export type CompletionInput = CompletionSignal & Pick<MonitorInput, 'handler'> & { endedMonitor?: string };
/**
 * What became of a completion: the result of its workflow. A refusal is also in the worker's log.
 */
export interface SignalledCompletion {
  kind: 'completed' | 'unknown-handler' | 'unknown-batch' | 'several' | 'later' | 'stale' | 'unreadable';
  batch?: number;
  state?: string;
  repeated?: boolean;
  error?: string;
}
/**
 * What became of the completions in the history of a monitor that did not end by itself.
 * `handedOn`: they were refused or came too early, and were handed to separate workflows.
 */
export interface ReadSignals {
  kind: 'read';
  completed: number;
  repeated: number;
  handedOn: number;
}

/**
 * The search attribute by which the Web UI finds the leaders and the monitor of a handler:
 * `MusterHandler = "orders"`. Each worker registers the attribute when it starts; if it is not
 * allowed to, an operator has to.
 */
export const HANDLER_ATTRIBUTE = defineSearchAttributeKey('MusterHandler', 'KEYWORD');

/**
 * Tells a user's workflow that tasks which it submitted have ended. It is a signal, because the
 * server must keep it until the workflow handles it.
 */
export const tasksEndedSignal = defineSignal<[TasksEnded]>(TASKS_ENDED);

/**
 * Tells the workflow that was named when a fan-out was opened that the fan-out is complete, or has
 * expired. It is a signal for the same reason.
 */
export const fanoutEndedSignal = defineSignal<[FanoutEnded]>(FANOUT_ENDED);

/**
 * Reads a leader's status, for tests and for operators in the Web UI. It is a query, because it
 * changes nothing.
 */
export const leaderStatusQuery = defineQuery<LeaderStatus>('leaderStatus');

/** Reads the balancer's status. */
export const balancerStatusQuery = defineQuery<BalancerStatus>('balancerStatus');
export interface BalancerStatus {
  epoch: number;
  rounds: number;
  moves: number;
  waiting: number;
  waitingMs: number | null;
}

/** Reads a queuer's status. */
export const queuerStatusQuery = defineQuery<QueuerStatus>('queuerStatus');
export interface QueuerStatus {
  epoch: number;
  turn: number;
  submitters: number;
  batches: number;
  waitingMs: number | null;
  heldBy: string | null;
}

export interface TaskEnd {
  id: string;
  state: 'succeeded' | 'failed' | 'dead' | 'unknown' | 'cancelled';
  result?: unknown;
  /**
   * Which part of the result could not be stored: some characters were replaced by U+FFFD, or all
   * of it was left out (then `result` is null).
   */
  resultNote?: string;
  error?: string;
  /** The result is too large for this message: read it from the store (`client.tasks.get`). */
  resultOmitted?: true;
}
export interface TasksEnded {
  handler: string;
  target: string;
  batch: number | null;
  tasks: TaskEnd[];
  /**
   * The results amount to 32 KiB or more, and were left out: read them from the store
   * (`client.tasks.get`).
   */
  resultsOmitted?: true;
}
/** The single event of a fan-out's end, stored in the transaction of that end. */
export interface FanoutEnded {
  type: 'fanout.completed' | 'fanout.expired';
  fanout: string;
  userKey: string | null;
  items: number;
  /** ISO time. */
  endedAt: string;
}
/**
 * The result of one look at the outbox. `dueInMs`: milliseconds until the next delivery is due; 0:
 * now; null: none is due.
 */
export interface DeliveryAnswer {
  delivered: number;
  givenUp: number;
  putOff: number;
  dueInMs: number | null;
  /** Error of the last delivery that failed. */
  lastError?: string;
}
/**
 * The result of one look at the accepted batches of a handler. `dueInMs`: milliseconds until the
 * next poll is due; 0: now; null: none is due.
 */
export interface PollAnswer {
  asked: number;
  settled: number;
  dueInMs: number | null;
  /** Error of the last poll that failed. */
  lastError?: string;
}
/** A task as a user's workflow submits it. It is plain data, since it crosses into an activity. */
export interface WorkflowTask<P = unknown> {
  /** Globally unique text of 1-256 bytes. The same id with the same content is the same task. */
  id: string;
  payload: P;
  /** The task joins no batch before this time: ISO text or Unix milliseconds. Default: at once. */
  notBefore?: string | number;
  /**
   * Within a target, tasks with a lower number go first: a whole number of -32768..32767; default
   * 0.
   */
  priority?: number;
  /**
   * Ids of at most 100 tasks that must have succeeded before this task joins a batch: tasks of the
   * same call, in any order, or tasks of any handler that were accepted before. Not for a task in a
   * lane.
   */
  dependsOn?: readonly string[];
  /**
   * What happens if a dependency does not succeed: the task fails too (`fail`, the default), or it
   * runs once all dependencies have ended (`run`).
   */
  onDependencyFailure?: 'fail' | 'run';
  /** At most 10 texts of 1-100 bytes by which lists and bulk actions find the task. */
  tags?: readonly string[];
  /** Texts by name, at most 4,096 bytes of JSON, which are shown with the task. */
  metadata?: Readonly<Record<string, string>>;
}
/**
 * The result of a submit from a workflow: the ends of tasks that have ended already, and the ids of
 * tasks whose end is reported elsewhere.
 */
export interface WorkflowSubmitAnswer {
  ends: TaskEnd[];
  foreign: string[];
}
/** The notifier's input. */
export interface NotifierInput {
  /** Events after which it continues as new; absent: a run of an earlier release. */
  mostEvents?: number;
}
/** A monitor's input. */
export interface MonitorInput {
  handler: string;
  /** Completions that the run before, which continued as new, left unread. */
  unread?: UnreadRun[];
}
export interface LeaderStatus {
  epoch: number;
  turn: number;
  dispatches: number;
  batches: number;
  tasks: number;
  waitingMs: number | null;
  lastReason: string | null;
  heldBy: string | null;
}

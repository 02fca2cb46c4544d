import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { UnreadRun } from './planning/unread';

/** The messages of our workflows. */

/**
 * "Look": a signal, since the sender needs no answer and the store holds the data; sent with start,
 * so that a closed workflow is started (DESIGN section 4.2).
 */
export const lookSignal = defineSignal('look');

/**
 * To a handler's monitor: what became of a batch that the downstream accepted (H7). A signal, since
 * whoever knows it (another workflow, a client in any language) need not wait, and it must be kept
 * until a worker comes to it, also while none runs and when no monitor does: sent with start,
 * workflow type `monitor`, id `<prefix>/monitor/<handler>`, task queue `<prefix>`. At most 1,000
 * results and 1 MB each, and some 20 MB or 5,000 at once, since a history keeps them: a server ends
 * one of 50 MB, and refuses the 10,001st. More at once by workflows of type `completion`, larger
 * ones by `client.complete` or the HTTP callback; all of these answer, too.
 */
export const completeSignal = defineSignal<[CompletionSignal]>('complete');

/** Exactly one of `reference` and `batchId`; `results` in the shapes of H1, plain JSON. */
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
 * Starts a workflow of type `completion`: the same, with the handler. It has a history of its own,
 * so any number may be started at once, and whoever starts it gets what came of it as its result.
 */
export type CompletionInput = CompletionSignal & Pick<MonitorInput, 'handler'> & { endedMonitor?: string };
/**
 * What came of a completion, the result of its workflow; a refused one is in the worker's log, too.
 */
export interface SignalledCompletion {
  kind: 'completed' | 'unknown-handler' | 'unknown-batch' | 'several' | 'later' | 'stale' | 'unreadable';
  batch?: number;
  state?: string;
  repeated?: boolean;
  error?: string;
}
/**
 * What was read from the history of a monitor that did not end by itself. `handedOn`: to workflows
 * of their own, refused or told too early.
 */
export interface ReadSignals {
  kind: 'read';
  completed: number;
  repeated: number;
  handedOn: number;
}

/**
 * Finds the leaders of one handler in the Web UI: `MusterHandler = "orders"`. Registered by each
 * worker as it starts, or by hand where it may not.
 */
export const HANDLER_ATTRIBUTE = defineSearchAttributeKey('MusterHandler', 'KEYWORD');

/**
 * To a user's workflow: tasks that it submitted ended. A signal, since it must be kept until the
 * workflow comes to it.
 */
export const tasksEndedSignal = defineSignal<[TasksEnded]>('musterTasksEnded');

/**
 * To a workflow that was named when a fan-out was opened: it is complete, or was given up. A signal
 * for the same reason.
 */
export const fanoutEndedSignal = defineSignal<[FanoutEnded]>('musterFanoutEnded');

/** A query, since it changes nothing: for tests and for people in the Web UI. */
export const leaderStatusQuery = defineQuery<LeaderStatus>('leaderStatus');

/** The same of the balancer. */
export const balancerStatusQuery = defineQuery<BalancerStatus>('balancerStatus');
export interface BalancerStatus {
  epoch: number;
  rounds: number;
  moves: number;
  waiting: number;
  waitingMs: number | null;
}

/** The same of a queuer. */
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
   * What of the result could not be kept: characters replaced by U+FFFD, or all of it left out
   * (then it is null).
   */
  resultNote?: string;
  error?: string;
  /** It has a result, too large for here: read it where it is (`client.getTask`). */
  resultOmitted?: true;
}
export interface TasksEnded {
  handler: string;
  target: string;
  batch: number | null;
  tasks: TaskEnd[];
  /**
   * The results are 32 KiB or more in all and were left out: read them where they are
   * (`client.getTask`).
   */
  resultsOmitted?: true;
}
/** The one event of a fan-out's end, as it is stored with the end (spec/fanout.md D3, D14). */
export interface FanoutEnded {
  type: 'fanout.completed' | 'fanout.expired';
  fanout: string;
  userKey: string | null;
  items: number;
  /** ISO time. */
  endedAt: string;
}
/** What one look at the outbox came to; `dueInMs`: of the next delivery, 0 now, null none. */
export interface DeliveryAnswer {
  delivered: number;
  givenUp: number;
  putOff: number;
  dueInMs: number | null;
}
/**
 * What one look at the accepted batches of a handler came to; `dueInMs`: of the next question, 0
 * now, null none.
 */
export interface PollAnswer {
  asked: number;
  settled: number;
  dueInMs: number | null;
}
/** A task as a user's workflow submits it: plain data, since it crosses into an activity. */
export interface WorkflowTask<P = unknown> {
  /** Globally unique, 1-256 bytes: the same id with the same content is the same task (A1). */
  id: string;
  payload: P;
  /** Joins no batch before; ISO text or Unix ms. */
  notBefore?: string | number;
  /** Lower goes first within a target, -32768..32767; default 0. */
  priority?: number;
}
/**
 * What a submit from a workflow found: tasks that have ended already, and tasks that somebody else
 * is told about.
 */
export interface WorkflowSubmitAnswer {
  ends: TaskEnd[];
  foreign: string[];
}
/** A monitor's input. */
export interface MonitorInput {
  handler: string;
  /** By a run that continued as new. */
  unread?: UnreadRun[];
}
export interface LeaderStatus {
  epoch: number;
  turn: number;
  submissions: number;
  batches: number;
  tasks: number;
  waitingMs: number | null;
  lastReason: string | null;
  heldBy: string | null;
}

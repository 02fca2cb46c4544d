import { defineSearchAttributeKey } from '@temporalio/common';
import { defineQuery, defineSignal } from '@temporalio/workflow';
import type { UnreadRun } from './planning/unread';

/** The messages of Muster's workflows. */

/**
 * Tells a workflow to look at the store. A signal, because the sender needs no answer and the store
 * holds the data; sent with start, so that a closed workflow is started.
 */
export const lookSignal = defineSignal('look');

/**
 * Reports to a handler's monitor the outcome of a batch that the downstream accepted. A signal,
 * because the sender (another workflow, a client in any language) needs no reply, and the server
 * must keep it until a worker handles it, even while no worker and no monitor runs: send it with
 * start, workflow type `monitor`, id `<prefix>/monitor/<handler>`, task queue `<prefix>`. At most
 * 1,000 results and 1 MB per signal, and about 20 MB or 5,000 signals at once, since a history
 * keeps them: a server ends a run of 50 MB, and refuses the 10,001st signal. Send more at once by
 * workflows of type `completion`, larger ones by `client.complete` or the HTTP callback; these also
 * return the result.
 */
export const completeSignal = defineSignal<[CompletionSignal]>('complete');

/** Exactly one of `reference` and `batchId`; `results` as `submit` returns them, as plain JSON. */
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
 * Input of a workflow of type `completion`: a completion with its handler. Each has its own
 * history, so any number may be started at once, and the starter gets the result.
 */
export type CompletionInput = CompletionSignal & Pick<MonitorInput, 'handler'> & { endedMonitor?: string };
/**
 * The result of a completion, which is that of its workflow; a refusal is in the worker's log, too.
 */
export interface SignalledCompletion {
  kind: 'completed' | 'unknown-handler' | 'unknown-batch' | 'several' | 'later' | 'stale' | 'unreadable';
  batch?: number;
  state?: string;
  repeated?: boolean;
  error?: string;
}
/**
 * What was read from the history of a monitor that did not end by itself. `handedOn`: to separate
 * workflows, because they were refused or came too early.
 */
export interface ReadSignals {
  kind: 'read';
  completed: number;
  repeated: number;
  handedOn: number;
}

/**
 * Finds the leaders and the monitor of one handler in the Web UI: `MusterHandler = "orders"`. Each
 * worker registers the attribute when it starts; where it is not allowed to, an operator does.
 */
export const HANDLER_ATTRIBUTE = defineSearchAttributeKey('MusterHandler', 'KEYWORD');

/**
 * Tells a user's workflow that tasks which it submitted have ended. A signal, because it must be
 * kept until the workflow handles it.
 */
export const tasksEndedSignal = defineSignal<[TasksEnded]>('musterTasksEnded');

/**
 * Tells a workflow that was named when a fan-out was opened that it is complete, or was given up. A
 * signal for the same reason.
 */
export const fanoutEndedSignal = defineSignal<[FanoutEnded]>('musterFanoutEnded');

/**
 * Reads a leader's status. A query, because it changes nothing: for tests and for operators in the
 * Web UI.
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
   * Which part of the result could not be kept: characters replaced by U+FFFD, or all of it left
   * out (then it is null).
   */
  resultNote?: string;
  error?: string;
  /** Its result is too large for this message: read it from the store (`client.getTask`). */
  resultOmitted?: true;
}
export interface TasksEnded {
  handler: string;
  target: string;
  batch: number | null;
  tasks: TaskEnd[];
  /**
   * The results are 32 KiB or more in all and were left out: read them from the store
   * (`client.getTask`).
   */
  resultsOmitted?: true;
}
/** The one event of a fan-out's end, stored with the end. */
export interface FanoutEnded {
  type: 'fanout.completed' | 'fanout.expired';
  fanout: string;
  userKey: string | null;
  items: number;
  /** ISO time. */
  endedAt: string;
}
/**
 * The result of one look at the outbox; `dueInMs`: when the next delivery is due, 0 now, null none.
 */
export interface DeliveryAnswer {
  delivered: number;
  givenUp: number;
  putOff: number;
  dueInMs: number | null;
  /** Of the last delivery that failed. */
  lastError?: string;
}
/**
 * The result of one look at the accepted batches of a handler; `dueInMs`: when the next status
 * request is due, 0 now, null none.
 */
export interface PollAnswer {
  asked: number;
  settled: number;
  dueInMs: number | null;
  /** Of the last status request that failed. */
  lastError?: string;
}
/** A task as a user's workflow submits it: plain data, since it crosses into an activity. */
export interface WorkflowTask<P = unknown> {
  /** Globally unique, 1-256 bytes: the same id with the same content is the same task. */
  id: string;
  payload: P;
  /** The task joins no batch before this; ISO text or Unix ms. */
  notBefore?: string | number;
  /** Lower goes first within a target, -32768..32767; default 0. */
  priority?: number;
  /**
   * Ids of tasks that must have succeeded before it joins a batch: of the same call, in any order,
   * or accepted before, of any handler; at most 100.
   */
  dependsOn?: readonly string[];
  /** Where one of them does not succeed: `fail` (the default), or `run` once all have ended. */
  onDependencyFailure?: 'fail' | 'run';
}
/**
 * What a submit from a workflow found: tasks that have ended already, and tasks whose end is
 * reported elsewhere.
 */
export interface WorkflowSubmitAnswer {
  ends: TaskEnd[];
  foreign: string[];
}
/** A monitor's input. */
export interface MonitorInput {
  handler: string;
  /** Completions that a run which continued as new left unread. */
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

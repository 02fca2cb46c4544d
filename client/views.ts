import type { BatchState, FlushReason, LeaderState, TaskState } from '../workflows/planning/states';

/** What the reads answer: plain JSON, times as ISO text, durations in milliseconds of the database's clock. */

export interface TaskView {
  id: string;
  handler: string;
  target: string;
  state: TaskState;
  /** Counted attempts so far (G2); back pressure counts none (H5). */
  attempts: number;
  /** The batch it is in, or in which it came to its end; null: in none. */
  batch: number | null;
  createdAt: string;
  /** Joins no batch before: the caller's, or the backoff of a retry. Only while it waits for it. */
  notBefore?: string;
  priority: number;
  payload: unknown;
  /** The downstream's value for this task; only when succeeded, and only if it gave one. */
  result?: unknown;
  /** Why it failed, died, is unknown or waits for another attempt. */
  error?: string | null;
  /** Only in a terminal state. */
  finishedAt?: string;
}

export interface LeaderView {
  /** Of the set: `0`..`n-1`, or the target's key with `leaders: 'target'`. */
  name: string;
  state: LeaderState;
  epoch: number;
  /** Looks again in; null: not waiting for a time. */
  wakeInMs: number | null;
  /** Below 0: silent for too long, the sweeper wakes it; null: idle. */
  expiresInMs: number | null;
}

export interface HandlerStatus {
  handler: string;
  paused: { since: string; reason: string | null } | null;
  /** Back pressure with scope handler (H5): nothing is sent before; null: not held. */
  holdUntil: string | null;
  counts: Record<TaskState, number>;
  /** Tasks in the store. With `exact: false` it is the sum of `counts`. */
  accepted: number;
  /** accepted = sum of `counts` (DESIGN section 8), read in one snapshot; null: not asked for (`exact: false`). */
  identityHolds: boolean | null;
  /** Since the oldest ready task has been waiting; null: none waits. */
  oldestQueuedMs: number | null;
  inFlightCalls: number;
  leaders: LeaderView[];
  /** Why the batches still in the store were closed: how many of each. */
  flushReasons: Partial<Record<FlushReason, number>>;
  /** A live worker node has this handler; without one nothing of it is sent. */
  served: boolean;
}

export interface TargetOverrides {
  lingerMs?: number;
  quietPeriodMs?: number;
  maxItems?: number;
  minItems?: number;
}

export interface TargetStatus {
  key: string;
  leader: string;
  /** Of its leader. */
  epoch: number;
  paused: { since: string; reason: string | null } | null;
  /** Its calls (or weight) in flight are at the limit. */
  busy: boolean;
  /** Back pressure or its own rate limit; null: not held. */
  holdInMs: number | null;
  /** Until the leader looks at it; negative: overdue; null: nothing waits that could go. */
  dueInMs: number | null;
  /** Tasks that are ready, that wait for their time, in open batches, in parked ones. */
  queued: number;
  delayed: number;
  inFlight: number;
  unknown: number;
  overrides: TargetOverrides | null;
  lastFlushReason: FlushReason | null;
}

export interface BatchView {
  id: number;
  handler: string;
  target: string;
  leader: string;
  /** Who formed it. */
  epoch: number;
  turn: number;
  state: BatchState;
  reason: FlushReason;
  /** Members when it was formed, and how many of them have left since (put back, split off, or with an end of their own). */
  n: number;
  left: number;
  bytes: number;
  weight: number;
  /** Calls marked so far (a verdict by hand is one, too), and those that count against `maxAttempts`. */
  attempts: number;
  counted: number;
  /** The node of the last call, and until when nobody may take the next attempt (null: concluded). */
  attemptBy: string | null;
  attemptUntil: string | null;
  /** The submission that carries it; null: waits in the store. */
  dispatch: number | null;
  /** Calls refused for now in a row (H5). */
  refusals: number;
  retryAt: string | null;
  /** Accepted downstream under this name, asked again at, given up at (H7). */
  reference: string | null;
  pollAt: string | null;
  pollUntil: string | null;
  /** Split from, into, and how often. */
  parent: number | null;
  children: number[];
  depth: number;
  /** Refused for its content, waits for what becomes of its other half (H4). */
  refused: boolean;
  /** The batch under whose idempotency key the downstream may know these tasks. */
  sentAs: number;
  error: string | null;
  /** Values of the last attempt are stored in this many pages (H8). */
  resultPages: number;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
  /** In member order, the first 100 unless asked for more. A task deleted after its retention is left out. */
  members: { id: string; state: TaskState }[];
}

export interface Cancellation {
  cancelled: string[];
  notCancelled: { id: string; state: TaskState | 'unknown id' }[];
}

export interface Verification {
  ok: boolean;
  /** Every invariant that was looked at, and the first rows that break it (at most 20). */
  checks: { name: string; violations: object[] }[];
}

export interface WaitProgress {
  total: number;
  /** Terminal, or unknown (parked). */
  ended: number;
}

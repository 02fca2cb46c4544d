import type { BatchRow } from '../postgres/batchView';
import type { TargetFacts } from '../postgres/targetView';
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
  /** With affinity: how many, and of how many a node holds the lease. Null: any node serves it. */
  partitions: { n: number; held: number } | null;
}

export interface TargetOverrides {
  lingerMs?: number;
  quietPeriodMs?: number;
  maxItems?: number;
  minItems?: number;
}

export interface TargetStatus extends Omit<TargetFacts, 'pausedAt' | 'pauseReason' | 'overrides' | 'lastFlushReason'> {
  paused: { since: string; reason: string | null } | null;
  overrides: TargetOverrides | null;
  lastFlushReason: FlushReason | null;
}

/** As it is read, times as ISO text. */
type Told<T> = { [K in keyof T]: Date extends T[K] ? Exclude<T[K], Date> | string : T[K] };

export interface BatchView extends Told<Omit<BatchRow, 'state' | 'reason'>> {
  state: BatchState;
  reason: FlushReason;
  /** In member order, the first 100 unless asked for more. A task deleted after its retention is left out. */
  members: { id: string; state: TaskState }[];
}

export interface Cancellation {
  cancelled: string[];
  notCancelled: {
    id: string;
    state: TaskState | 'unknown id';
    /** Of a lane: the batch that it is in, and why that one was not cancelled. */
    batch?: number;
    why?: string;
  }[];
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

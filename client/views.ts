/**
 * The results of reads: plain JSON, times as ISO text, durations in milliseconds of the database's
 * clock. One source: the contracts.
 */

export type {
  /** One batch as it is now, with its first members. */
  BatchView,
} from '../workflows/contracts/batch';
export type {
  /** How one handler stands: counts by state, calls in flight, leaders, and what has stalled. */
  HandlerStatus,
  /** One leader of a handler: what it does, and when it looks again. */
  LeaderView,
  /** Settings of one target in place of its handler's, times in milliseconds. */
  TargetOverrides,
  /** What waits in one target, when it is due, and what holds it back. */
  TargetStatus,
  /** One invariant of the store per row, with at most 20 rows that violate it. */
  Verification,
} from '../workflows/contracts/handler';
export type {
  /** Which tasks were cancelled, and the state of those that could not be. */
  Cancellation,
  /** One task as it is now. */
  TaskView,
} from '../workflows/contracts/task';

/** How far a `waitFor` is. */
export interface WaitProgress {
  /** Tasks that are waited for. */
  total: number;
  /** Terminal, or unknown (parked). */
  ended: number;
}

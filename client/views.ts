/**
 * The results of reads: plain JSON, times as ISO text, durations in milliseconds of the database's
 * clock. One source: the contracts.
 */

export type { BatchView } from '../workflows/contracts/batch';
export type {
  HandlerStatus,
  LeaderView,
  TargetOverrides,
  TargetStatus,
  Verification,
} from '../workflows/contracts/handler';
export type { Cancellation, TaskView } from '../workflows/contracts/task';

export interface WaitProgress {
  total: number;
  /** Terminal, or unknown (parked). */
  ended: number;
}

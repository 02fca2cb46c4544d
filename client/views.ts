/**
 * The results of reads: plain JSON, with times as ISO text and durations in milliseconds by the
 * database's clock. They are defined in workflows/contracts.
 */

export type {
  /** Batches of a list, and where the next page begins. */
  BatchPage,
  /** One batch of a list, without its members. */
  BatchSummary,
  /** One batch as it is now, with its first members. */
  BatchView,
} from '../workflows/contracts/batch';
export type {
  /** What a bulk action would change. */
  BulkDryRun,
  /** Bulk actions of a list, and where the next page begins. */
  BulkPage,
  /** One bulk action as it is now: what it does, to which tasks, and how far it is. */
  BulkView,
} from '../workflows/contracts/bulk';
export type {
  /** Callbacks of a list, and where the next page begins. */
  CallbackPage,
  /** A callback that was tried and not delivered. */
  UndeliveredCallback,
} from '../workflows/contracts/callback';
export type {
  /** What became of a callback that was not delivered. */
  CallbackState,
} from '../workflows/planning/callbacks/undelivered';
export type {
  /** What calls and tasks of a handler came to within one minute. */
  MinuteOutcomes,
  /** Minutes of a list, and where the next page begins. */
  OutcomePage,
} from '../workflows/contracts/outcomes';
export type {
  /** Errors that have a text in common: how many, since when, and what to do. */
  ErrorGroupView,
  /** The most frequent errors, and whether all were counted. */
  ErrorList,
} from '../workflows/contracts/errors';
export type {
  /** The status of one handler: counts by state, calls in flight, leaders, and what has stalled. */
  HandlerStatus,
  /** One leader of a handler: its state, and when it looks again. */
  LeaderView,
  /** Settings of one target in place of its handler's; times in milliseconds. */
  TargetOverrides,
  /** The status of one target: what waits in it, when it is due, and what holds it back. */
  TargetStatus,
  /** The result of `verify`: per invariant of the store, at most 20 rows that violate it. */
  Verification,
} from '../workflows/contracts/handler';
export type {
  /** A limit that is set, by whom and until when. */
  LimitSetting,
  /** One limit: what counts, what is defined, and who set it until when. */
  LimitView,
  /** The limits of a handler or a target after a change, and what counts differently. */
  LimitsChange,
  /** Handlers and targets for which limits are set, and where the next page begins. */
  LimitsPage,
  /** The limits of a handler or a target. */
  LimitsView,
  /** A limit that handlers share after a change, and what counts differently. */
  SharedLimitChange,
  /** Limits that handlers share, and where the next page begins. */
  SharedLimitsPage,
  /** A limit that handlers share: which do, what counts, and who set it. */
  SharedLimitView,
} from '../workflows/contracts/limits';
export type {
  /** Which tasks were cancelled, and the state of those that could not be. */
  Cancellation,
  /** Tasks of a list, and where the next page begins. */
  TaskPage,
  /** One task of a list, without its payload and its result. */
  TaskSummary,
  /** One task as it is now. */
  TaskView,
} from '../workflows/contracts/task';

/** The progress of a `waitFor`. */
export interface WaitProgress {
  /** Number of tasks that are waited for. */
  total: number;
  /** Number of those that have ended or are `unknown` (parked). */
  ended: number;
}

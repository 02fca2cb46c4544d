/** Muster's public API. */
export { createClient, Client } from './client';
export { MAX_TASKS_PER_CALL } from './tasks/calls/submitCall';
export type { Tasks } from './tasks/tasks';
export type { Handlers } from './operations/handlers';
export type { Targets } from './operations/targets';
export type { Batches } from './lanes/batches';
export type { Lanes } from './lanes/lanes';
export type { Queuers } from './lanes/queuers';
export type { Bulk } from './bulk/bulk';
export type { BulkDeed, BulkFilter, BulkInput, BulkStart } from './bulk/input';
export type { ListBulkOptions } from './bulk/list';
export type { Callbacks } from './callbacks/callbacks';
export type { ListCallbacksOptions } from './callbacks/list';
export type { SendCallbacksOptions } from './callbacks/send';
export type { ListOutcomesOptions } from './outcomes/list';
export type { Outcomes } from './outcomes/outcomes';
export type { Errors } from './listing/errors';
export type { ListBatchesOptions } from './listing/listBatches';
export type { ListErrorsOptions } from './listing/listErrors';
export type { Fanouts } from './fanouts/fanouts';
export type { AckResult, Items } from './fanouts/items';
export type { Executions } from './executions/executions';
export type { Limits, ListLimitsOptions } from './limits/limits';
export type { LastingOptions, LimitSettings, SetLimitsOptions } from './limits/check';
export type { SharedLimitSettings } from './limits/checkShared';
export type { SharedLimits } from './limits/sharedLimits';
export type { Nodes, Partitions } from './nodes/nodes';
export type { ClientOptions } from './clientOptions';
export type { SubmitOptions, SubmitResult, TaskSource } from './tasks/submitResult';
export type { CancelledBatch } from './lanes/cancelBatch';
export type { Fix, HeadOptions, QueuerSettings } from './lanes/control';
export type { LostAnswer, LostOptions } from './lanes/reportLost';
export type * from './nodes/views';
export type { PartitionsOptions } from './nodes/nodes';
export type {
  /** One lane batch: its place, its status, and what it is waiting for. */
  LaneBatchView,
  LanesOptions,
  /** One lane: its waiting work and age, its state and why, and its share of the submitters. */
  LaneView,
  /** The queuer's settings and grants: slots, strategy, how many submitters are at work. */
  QueuerView,
} from './lanes/views';
export type { BatchInput } from './lanes/checkBatch';
export type { Receipt } from './lanes/receipts';
export type { AddItemsOptions, OpenFanoutOptions } from './fanouts/check';
export { AddedItems } from './fanouts/fanout';
export type {
  /** A fan-out that a call has completed. */
  CompletedFanout,
  /** One fan-out as it is now. */
  FanoutView,
} from './fanouts/fanout';
export type { AckOptions, ItemSource } from './fanouts/ackItems';
export type {
  /** What a call of `reapFanouts` expired, reported and deleted. */
  ReapCounts,
  ReapOptions,
} from './fanouts/reap';
export type { WaitForFanoutOptions } from './fanouts/waitFor';
export type { SegmentRange } from '../workflows/planning/fanouts/segments';
export type {
  /** State of a fan-out; `complete` and `expired` are final. */
  FanoutState,
} from '../workflows/planning/fanouts/states';
export { parseItemId } from '../workflows/planning/fanouts/itemId';
export { itemIds } from '../workflows/planning/fanouts/segments';
export type { SubmitBatchOptions, SubmittedBatch } from './lanes/submitBatch';
export type { Callback, TaskInput } from './tasks/checkTasks';
export type * from './views';
export type { ListTasksOptions } from './tasks/list/list';
export { fromDrizzle, fromKnex, fromKysely, fromPostgresJs, fromPrisma, fromTypeOrm } from './transactions/adapters';
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyExecutor,
  KyselyTransaction,
  PostgresJsTransaction,
  PrismaTransaction,
  TypeOrmManager,
  TypeOrmRunner,
  TypeOrmTransaction,
} from './transactions/adapters';
export type { WaitOptions } from './tasks/waitFor';
export type { ArgumentLists } from './executions/execute';
export { contentId } from './executions/contentId';
export type { ExecuteOptions, ExecutionConfig, Template } from './executions/check';
export { AcceptedExecution } from './executions/accepted';
export type { AnswerCode } from '../workflows/planning/executions/rollCall';
export { Execution } from './executions/handle';
export type * from './executions/views';
export type { ResultPage } from './executions/results';
export type {
  ExecutionState,
  ItemCounts,
  /** State of one work item of an execution. */
  ItemState,
} from '../workflows/planning/executions/states';
export { CodecError } from '../handlers/codec/codecError';
export type {
  CodecContext,
  EncodedPayload,
  ObjectStore,
  ObjectStoreOptions,
  PayloadCodec,
  ValueKind,
} from '../handlers/codec/types';
export { defineFunction } from '../handlers/functions';
export type * from '../handlers/functions/types';
export type { PauseOptions } from './operations/control';
export type { RedriveOptions } from './operations/redrive';
export type { CompletionAnswer } from './operations/complete';
export type { CompletionReport, CompletionWhat } from '../activities/accepted/completion';
export type { ResolveWhat, Verdict } from './operations/resolve';
export type { TargetsOptions } from './operations/status';
export type {
  /** Decides which lane is next: docs/systems/lanes.md describes each strategy. */
  StrategyName,
} from '../workflows/planning/lanes/types';
export type {
  /** Status of a batch in its lane. */
  LaneBatchStatus,
} from '../workflows/planning/lanes/statuses';
export type {
  /** Says where a task is, what it waits for, and its earliest next step. */
  Explanation,
  ExplainFacts,
  /** What a task waits for: docs/operations/troubleshooting.md says what to do in each case. */
  WaitsFor,
} from '../workflows/planning/explain';
export type { ServedBy } from '../workflows/planning/explain/facts';
export type {
  /**
   * State of a batch; `dissolved`: its tasks went back to the queue, or into the halves of a
   * bisect.
   */
  BatchState,
  /** Why a batch closed; `given`: the caller submitted it as a batch. */
  FlushReason,
  /** State of a leader or queuer; `waiting`: it waits for the next due time. */
  LeaderState,
  /**
   * State of a task; `succeeded`, `failed`, `dead` and `cancelled` are final, and `unknown` waits
   * for `resolve`.
   */
  TaskState,
} from '../workflows/planning/states';
export type {
  /** State of a bulk action; `done` and `stopped` are final. */
  BulkState,
} from '../workflows/planning/bulk/states';
export * from './errors';
export * from './fanouts/errors';
export * from './nodes/errors';
export * from '../handlers';

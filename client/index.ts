/** Muster's public API. */
export { createClient, Client, MAX_TASKS_PER_CALL } from './client';
export type { ClientOptions, SubmitOptions, SubmitResult, TaskSource } from './client';
export type { Fix, QueuerSettings } from './laneControl';
export type { LaneBatchView, LanesOptions, LaneView, QueuerView } from './lanes';
export type { BatchInput } from './checkBatch';
export type { SubmitBatchOptions, SubmittedBatch } from './submitBatch';
export type { Callback, TaskInput } from './checkTasks';
export type * from './views';
export type { WaitOptions } from './waitFor';
export type { PauseOptions } from './control';
export type { RedriveOptions } from './redrive';
export type { ResolveWhat, Verdict } from './resolve';
export type { TargetsOptions } from './status';
export type { Explanation, ExplainFacts, WaitsFor } from '../workflows/planning/explain';
export type { BatchState, FlushReason, LeaderState, TaskState } from '../workflows/planning/states';
export * from './errors';
export * from '../activities/handlers';

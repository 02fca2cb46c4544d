/**
 * What this process's sweeper has found since its start; `strandedHalves` is the last look's number
 * and should stay 0.
 */
export interface SweepCounts {
  rounds: number;
  /** Looks at all targets with queued tasks; each takes one round or several. */
  cycles: number;
  failures: number;
  expiredLeaders: number;
  /** Leaders woken because a dispatch of theirs gave no sign of life. */
  lostDispatches: number;
  forgottenTargets: number;
  idleLeaders: number;
  stuckTargets: number;
  notifierWakes: number;
  monitorWakes: number;
  queuerWakes: number;
  forgottenLanes: number;
  balancerWakes: number;
  strandedHalves: number;
  /** Runs of workflows without progress that were begun anew. */
  stuckRuns: number;
  /** Monitors that did not end by themselves, whose signals were read from their histories. */
  endedMonitors: number;
  /** Tasks whose `expiresAt` had passed: those that still waited were ended. */
  expiries: number;
  /** Tasks that bulk actions changed. */
  bulkTasks: number;
  deletedTasks: number;
  /** Objects of the object store. */
  deletedObjects: number;
  deletedNodes: number;
  deletedDispatches: number;
  /** Targets and lanes that were unused. */
  deletedTargets: number;
  deletedLanes: number;
  deletedLeaders: number;
  expiredFanouts: number;
  deletedFanouts: number;
  deletedExecutions: number;
  /** Work items of executions. */
  deletedItems: number;
}

export const noCounts = (): SweepCounts => ({
  rounds: 0,
  cycles: 0,
  failures: 0,
  expiredLeaders: 0,
  lostDispatches: 0,
  forgottenTargets: 0,
  idleLeaders: 0,
  stuckTargets: 0,
  notifierWakes: 0,
  monitorWakes: 0,
  queuerWakes: 0,
  forgottenLanes: 0,
  balancerWakes: 0,
  strandedHalves: 0,
  stuckRuns: 0,
  endedMonitors: 0,
  expiries: 0,
  bulkTasks: 0,
  deletedTasks: 0,
  deletedObjects: 0,
  deletedNodes: 0,
  deletedDispatches: 0,
  deletedTargets: 0,
  deletedLanes: 0,
  deletedLeaders: 0,
  expiredFanouts: 0,
  deletedFanouts: 0,
  deletedExecutions: 0,
  deletedItems: 0,
});

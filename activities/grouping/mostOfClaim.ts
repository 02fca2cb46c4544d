import type { DueTarget } from '../../postgres/grouping/claim';
import type { LockedLeader } from '../../postgres/grouping/leader';
import type { BatchLimits } from '../../workflows/planning/calls/plans';
import { mostCollected } from '../../workflows/planning/grouping/coalescing';

/**
 * Most targets, batches and tasks per claim: bounds its transaction and the time that its dispatch
 * takes.
 */
export const MAX_TARGETS = 512;
export const MAX_BATCHES = 512;
export const MAX_TASKS = 20_000;

/** Returns how many tasks of a target are read: those of its batches, and one more. */
export const wantedOf = (
  { coalesces }: Pick<LockedLeader, 'coalesces'>,
  maxItems: number,
  maxBatches: number,
): number => {
  const sent = Math.max(Math.min(MAX_TASKS, maxBatches * maxItems), maxItems);
  return (coalesces ? Math.max(sent, mostCollected(maxItems)) : sent) + 1;
};

/** Returns how many tasks fill a batch of the target. */
export const itemsOf = (leader: LockedLeader, target: DueTarget): number =>
  target.overrides?.maxItems ?? leader.limits.maxItems;

/** Returns the limits of the handler's batches, as the planner takes them. */
export const batchLimits = (leader: LockedLeader): BatchLimits => ({
  maxItems: leader.limits.maxItems,
  overheadBytes: leader.limits.overheadBytes,
  minItems: leader.limits.minItems,
  lingerMs: leader.limits.lingerMs,
  ...(leader.limits.maxBytes === null ? {} : { maxBytes: leader.limits.maxBytes }),
  ...(leader.limits.maxWeight === null ? {} : { maxWeight: leader.limits.maxWeight }),
  ...(leader.limits.quietMs === null ? {} : { quietPeriodMs: leader.limits.quietMs }),
});

import type { BatchState, TaskState } from '../../../workflows/planning/states';

/**
 * An oracle: what may come after each state of a task and of a batch that a leader formed;
 * everything else is a bug. `new` is before the first. The product has no such table: each of its
 * statements moves only what it has locked in a certain state, and the triggers of `recorded.ts`
 * hold what they do against this one. Lanes have statuses of their own, with a table beside their
 * model.
 */
export const TASK_AFTER: Readonly<Record<TaskState | 'new', readonly TaskState[]>> = {
  new: ['created'],
  // Failed: what it depends on did not succeed.
  created: ['batched', 'cancelled', 'failed'],
  // Handed back uncalled, because its handler is paused.
  batched: ['in-progress', 'created'],
  // Batched: in the half of a refused batch. Cancelled: the downstream says that it stopped it.
  'in-progress': ['created', 'batched', 'unknown', 'succeeded', 'failed', 'dead', 'cancelled'],
  // By an operator, or a true answer comes late: of one that names some members only, the others
  // are sent again or looked up.
  unknown: ['created', 'batched', 'in-progress', 'succeeded', 'failed', 'dead', 'cancelled'],
  succeeded: [],
  // Redriven.
  failed: ['created'],
  dead: ['created'],
  cancelled: [],
};

export const BATCH_AFTER: Readonly<Record<BatchState | 'new', readonly BatchState[]>> = {
  // Unknown: split off, with the members that no result was for.
  new: ['open', 'unknown'],
  open: ['unknown', 'succeeded', 'failed', 'dissolved'],
  unknown: ['succeeded', 'failed', 'dissolved'],
  succeeded: [],
  // Its last member was redriven.
  failed: ['dissolved'],
  dead: ['dissolved'],
  dissolved: [],
};

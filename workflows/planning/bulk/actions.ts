import type { TaskState } from '../states';

/** What a bulk action does, and to tasks in which states. */
export const STATES_OF_ACTION = {
  cancel: ['created'],
  redrive: ['failed', 'dead', 'unknown', 'succeeded'],
  resolve: ['unknown'],
  update: ['created'],
} as const satisfies Record<string, readonly TaskState[]>;
export type BulkVerb = keyof typeof STATES_OF_ACTION;
export const BULK_VERBS = Object.keys(STATES_OF_ACTION) as [BulkVerb, ...BulkVerb[]];

/** Why the store refuses to change a task. */
export const IN_LANE = 'in a lane, whose order depends on it';
export const IN_LANE_BATCH = 'in a batch of a lane, which is cancelled as a whole';

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

/** Why a task keeps the payload that it has, and what helps. */
export const KEEPS_PAYLOAD = {
  noObject: 'its payload is no JSON object, as a merge patch needs: cancel it, and submit another task',
  unreadable: 'its payload cannot be decoded: give the worker the codec and object store that it was stored with',
  outdated: 'its payload cannot be made today’s by the handler: give it an upcast for its version, or cancel the task',
  unstable: 'the schema would change what is not in the patch: cancel it, and submit another task',
  dropped: 'the handler drops a member of the patch: correct its name, or give the workers newer code',
  invalid: 'the handler refuses the new payload: correct the patch',
  target: 'its target would be another: cancel it, and submit another task',
  key: 'its key of distinctBy or coalesceBy would be another: cancel it, and submit another task',
  changed: 'changed meanwhile: start the action again',
  large: 'its new payload is too large once it is encoded: raise maxPayloadBytes',
} as const;

/**
 * The states of an execution, its chunks and its work items. This is the only list of them: the
 * store has the numbers, people see the names.
 */

export const ITEM = { created: 0, inProgress: 1, done: 100, failed: -1, permanentlyFailed: -2 } as const;
export type ItemState = 'created' | 'in-progress' | 'done' | 'failed' | 'permanently-failed';

const ITEM_NAMES: Readonly<Record<number, ItemState>> = {
  [ITEM.created]: 'created',
  [ITEM.inProgress]: 'in-progress',
  [ITEM.done]: 'done',
  [ITEM.failed]: 'failed',
  [ITEM.permanentlyFailed]: 'permanently-failed',
};
export const itemStateName = (state: number): ItemState => nameOf(ITEM_NAMES, state, 'work item');

export const EXECUTION = { created: 0, inProgress: 1, staging: 2, done: 100, cancelled: -3, deleted: -4 } as const;
/**
 * `deleted` has no name: the rows of such an execution are being deleted, and no reader sees it.
 */
export type ExecutionState = 'staging' | 'created' | 'in-progress' | 'done' | 'cancelled';

const EXECUTION_NAMES: Readonly<Record<number, ExecutionState>> = {
  [EXECUTION.created]: 'created',
  [EXECUTION.inProgress]: 'in-progress',
  [EXECUTION.staging]: 'staging',
  [EXECUTION.done]: 'done',
  [EXECUTION.cancelled]: 'cancelled',
};
export const executionStateName = (state: number): ExecutionState => nameOf(EXECUTION_NAMES, state, 'execution');
/** Says whether the execution has ended: it runs nothing any more, and never will. */
export const isOver = (state: number): boolean =>
  state === EXECUTION.done || state === EXECUTION.cancelled || state === EXECUTION.deleted;

export const CHUNK = { filling: 2, ready: 0, taken: 1, done: 100, closed: -1 } as const;

const nameOf = <N extends string>(names: Readonly<Record<number, N>>, state: number, what: string): N => {
  const name = names[state];
  if (name === undefined) throw new Error(`${what}: no state ${state}`);
  return name;
};

/** How many items of an execution are in each state. */
export interface ItemCounts {
  created: number;
  inProgress: number;
  done: number;
  failed: number;
  permanentlyFailed: number;
}
/** Returns how many items a new round would take. */
export const pendingOf = (counts: ItemCounts): number => counts.created + counts.failed;

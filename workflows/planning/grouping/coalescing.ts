import type { Superseded, WaitingTask } from '../calls/plans';

/**
 * Begins the stored keys of `coalesceBy`: in the same column stand keys of `distinctBy`, which
 * a handler may have had before, and whose tasks all have to be sent.
 */
export const COALESCE_PREFIX = 'coalesce:';

/** Begins the error of a task that is not sent; the id of the task that goes for it follows. */
export const SUPERSEDED_BY = 'superseded by task ';

/** What is said in place of the id of a task to a tenant whose task it is not. */
export const OF_ANOTHER_TENANT = '(of another tenant)';

/** How many waiting tasks a batch collects that is not full: per task of a full one, and more. */
export const COLLECTED = { perItem: 4, more: 1_000, most: 20_000 } as const;

/**
 * Returns how many tasks may wait in a target, those included that will not be sent, until a batch
 * goes that is not full: more would be read at each claim for the few that are sent.
 */
export const mostCollected = (maxItems: number): number =>
  Math.max(maxItems, Math.min(COLLECTED.perItem * maxItems + COLLECTED.more, COLLECTED.most));

/** A waiting task, and those of its key for which it goes. */
export interface CoalescedTask extends WaitingTask {
  earlier: readonly WaitingTask[];
}

/**
 * Returns of each key the last task, which was submitted last, at the place of the key's first in
 * claim order: a key that is submitted again and again is not put off by that. Tasks without such a
 * key stay as they are.
 */
export const lastOfEachKey = (tasks: readonly WaitingTask[]): CoalescedTask[] => {
  const groups = new Map<string | number, WaitingTask[]>();
  for (const task of tasks) {
    const group = task.key?.startsWith(COALESCE_PREFIX) === true ? task.key : task.seq;
    const those = groups.get(group);
    if (those === undefined) groups.set(group, [task]);
    else those.push(task);
  }
  return [...groups.values()].map(goFor);
};

const goFor = (those: readonly WaitingTask[]): CoalescedTask => {
  const last = those.reduce((latest, task) => (task.seq > latest.seq ? task : latest));
  return { ...last, earlier: those.filter((task) => task !== last) };
};

/** Returns the tasks that end unsent when these are taken. */
export const supersededBy = (taken: readonly CoalescedTask[]): Superseded[] =>
  taken.flatMap(({ seq: by, earlier }) => earlier.map(({ seq }) => ({ seq, by })));

import { counted, number } from './format';
import { apiPath } from './place';

/** A change that a viewer can make: what is asked before it, what is sent, what is said after. */
export interface Action {
  label: string;
  scope: 'operate' | 'submit';
  /** It cannot be taken back. */
  isFinal?: boolean;
  /** Says how many and which. */
  question: string;
  /** Says what follows. */
  effect: string;
  method: 'POST';
  path: string;
  body: object;
  /** Asks for this text, and sends it in the body under this name. */
  asks?: { name: string; label: string };
  /** Counts first what the same body would change. Where that is nothing, it is not sent. */
  dryRun?: { path: string; found(answer: Answer): Found };
  /** It is done once, however often it is sent. */
  isKeyed?: boolean;
  done(answer: Answer): string;
  /** Where it can be followed. */
  goesTo?(answer: Answer): { href: string; text: string };
}
type Answer = Readonly<Record<string, unknown>>;

/** What a dry run found: how many, and that in words. */
export interface Found {
  n: number;
  text: string;
}

interface Given extends Partial<Action> {
  label: string;
  question: string;
  effect: string;
  path: string;
}
const action = (given: Given): Action => ({
  scope: 'operate',
  method: 'POST',
  body: {},
  done: () => 'Done.',
  ...given,
});
const REASON = { name: 'reason', label: 'Reason, which all viewers see' };
const handlerPath = (handler: string, target: string | null, verb: string): string =>
  apiPath(['v1', 'handlers', handler, ...(target === null ? [] : ['targets', target]), verb]);
const named = (handler: string, target: string | null): string =>
  target === null ? `handler ${handler}` : `target ${target} of ${handler}`;

export const flush = (handler: string, target: string | null, waiting: number): Action =>
  action({
    label: 'Flush',
    question: `Flush ${named(handler, target)}: ${counted(waiting, 'waiting task')}?`,
    effect: 'They are sent at once, in batches that may not be full. Limits and pauses still hold.',
    path: handlerPath(handler, target, 'flush'),
    done: ({ tasks, targets }) => `${counted(Number(tasks), 'task')} of ${counted(Number(targets), 'target')} are due.`,
  });

export const pause = (handler: string, target: string | null): Action =>
  action({
    label: 'Pause',
    question: `Pause ${named(handler, target)}?`,
    effect: 'No new call is made until it is resumed. Calls in flight finish, and submits are accepted.',
    path: handlerPath(handler, target, 'pause'),
    asks: REASON,
    done: () => 'Paused.',
  });

export const resume = (handler: string, target: string | null): Action =>
  action({
    label: 'Resume',
    question: `Resume ${named(handler, target)}?`,
    effect: 'Calls are made again at once, whatever the reason of the pause was.',
    path: handlerPath(handler, target, 'resume'),
    done: () => 'Resumed.',
  });

const REDRIVEN = ['failed', 'dead', 'unknown'] as const;
export type Redriven = (typeof REDRIVEN)[number];
export const isRedriven = (state: string): state is Redriven => (REDRIVEN as readonly string[]).includes(state);

export const redrive = (handler: string, only: Redriven, ids: readonly string[]): Action =>
  action({
    label: 'Redrive selected',
    question: `Redrive ${counted(ids.length, `${only} task`)} of handler ${handler}${listed(ids)}?`,
    effect: `They are sent again with fresh attempts.${only === 'unknown' ? ' Some may have had their effect.' : ''}`,
    path: handlerPath(handler, null, 'redrive'),
    body: { only, ids },
    done: ({ redriven }) => `${counted(Number(redriven), 'task')} ${Number(redriven) === 1 ? 'waits' : 'wait'} again.`,
  });

export const cancelTasks = (ids: readonly string[]): Action =>
  action({
    label: ids.length === 1 ? 'Cancel' : 'Cancel selected',
    scope: 'submit',
    isFinal: true,
    question: `Cancel ${counted(ids.length, 'task')}${listed(ids)}?`,
    effect: 'Tasks that have not been sent end as cancelled. Others are left as they are.',
    path: apiPath(['v1', 'tasks:cancel']),
    body: { ids },
    done: ({ cancelled, notCancelled }) =>
      `${counted((cancelled as unknown[]).length, 'task')} cancelled, ${(notCancelled as unknown[]).length} not.`,
  });

export const VERDICTS = {
  succeeded: { label: 'It succeeded', effect: 'ends as succeeded' },
  failed: { label: 'It failed', effect: 'ends as failed' },
  created: { label: 'Send again', effect: 'is sent again' },
} as const;
export type VerdictName = keyof typeof VERDICTS;

export const resolveTasks = (ids: readonly string[], as: VerdictName): Action =>
  action({
    label: VERDICTS[as].label,
    isFinal: as !== 'created',
    question: `Resolve ${counted(ids.length, 'parked task')}${listed(ids)}?`,
    effect: `The outcome of each is unknown; by your word it ${VERDICTS[as].effect}.`,
    path: apiPath(['v1', 'tasks:resolve']),
    body: { ids, as },
    done: ({ resolved }) => `${counted(Number(resolved), 'task')} resolved.`,
  });

export const resolveBatch = (batch: number, n: number, as: VerdictName): Action =>
  action({
    label: VERDICTS[as].label,
    isFinal: as !== 'created',
    question: `Resolve batch ${batch} with ${counted(n, 'task')}?`,
    effect: `Its outcome is unknown; by your word each task ${VERDICTS[as].effect}.`,
    path: apiPath(['v1', 'batches', String(batch), 'resolve']),
    body: { as },
    done: ({ resolved }) => `${counted(Number(resolved), 'task')} resolved.`,
  });

export const cancelBatch = (batch: number, n: number): Action =>
  action({
    label: 'Cancel batch',
    scope: 'submit',
    isFinal: true,
    question: `Cancel batch ${batch} with ${counted(n, 'task')}?`,
    effect: 'If it was not sent, its tasks end as cancelled. If the downstream has accepted it, it is asked to stop.',
    path: apiPath(['v1', 'batches', String(batch), 'cancel']),
  });

const SHOWN_IDS = 5;
/** Names the first ids of `n`. */
export const listed = (ids?: readonly string[], n = ids?.length ?? 0): string => {
  if (ids === undefined) return '';
  const more = n - Math.min(SHOWN_IDS, ids.length);
  return `: ${ids.slice(0, SHOWN_IDS).join(', ')}${more > 0 ? ` and ${number(more)} more` : ''}`;
};

import { counted, number } from './format';
import type { Request } from './operations';
import { requestOf } from './operations';

/** A change that a viewer can make: what is asked before it, what is sent, what is said after. */
export interface Action extends Request {
  label: string;
  scope: 'operate' | 'submit' | 'admin';
  /** It cannot be taken back. */
  isFinal?: boolean;
  /** Says how many and which. */
  question: string;
  /** Says what follows. */
  effect: string;
  body: object;
  /** Asks for these. */
  asks?: readonly Field[];
  /** Returns the body with what was given; default: what is not empty, under its name. */
  bodyWith?(given: Given): object;
  /** What the dry run is asked with, where fields that are not filled in make no body. */
  previewBody?: object;
  /** Counts first what the same body would change. Where that is nothing, it is not sent. */
  dryRun?: { path: string; found(answer: Answer): Found };
  /** It is done once, however often it is sent. */
  isKeyed?: boolean;
  done(answer: Answer): string;
  /** Where it can be followed. */
  goesTo?(answer: Answer): { href: string; text: string };
}
type Answer = Readonly<Record<string, unknown>>;

/** Something that is asked before a change. */
export interface Field {
  name: string;
  label: string;
  /** What stands there first. */
  value?: string;
  /** It cannot be left empty. */
  isNeeded?: boolean;
  choices?: Choices;
}
export type Choices = readonly (readonly [value: string, label: string])[];
/** What was given, by the names of the fields. */
export type Given = Readonly<Record<string, string>>;

/** Returns the body of an action with what was given. */
export const bodyOf = ({ body, bodyWith }: Pick<Action, 'body' | 'bodyWith'>, given: Given): object =>
  bodyWith?.(given) ?? { ...body, ...Object.fromEntries(Object.entries(given).filter(([, text]) => text !== '')) };

/** Returns what stands in the fields of an action before anything is given. */
const firstGiven = ({ asks = [] }: Pick<Action, 'asks'>): Given =>
  Object.fromEntries(asks.map(({ name, value = '' }) => [name, value]));

/** Returns what is asked of the dry run: it is made before anything is given. */
export const previewBodyOf = (action: Pick<Action, 'asks' | 'body' | 'bodyWith' | 'previewBody'>): object =>
  action.previewBody ?? bodyOf(action, firstGiven(action));

/** What a dry run found: how many, and that in words. */
export interface Found {
  n: number;
  text: string;
}

type Made = Partial<Action> & Request & Pick<Action, 'label' | 'question' | 'effect'>;
export const action = (made: Made): Action => ({ scope: 'operate', body: {}, done: () => 'Done.', ...made });

export const REASON: Field = { name: 'reason', label: 'Reason, which all viewers see' };
/** Returns how a verb is asked of a handler, or of one of its targets. */
const requestTo = (verb: 'flush' | 'pause' | 'resume', handler: string, target: string | null): Request =>
  target === null ? requestOf(`${verb}Handler`, { handler }) : requestOf(`${verb}Target`, { handler, target });
const named = (handler: string, target: string | null): string =>
  target === null ? `handler ${handler}` : `target ${target} of ${handler}`;

export const flush = (handler: string, target: string | null, waiting: number): Action =>
  action({
    label: 'Flush',
    question: `Flush ${named(handler, target)}: ${counted(waiting, 'waiting task')}?`,
    effect: 'They are sent at once, in batches that may not be full. Limits and pauses still hold.',
    ...requestTo('flush', handler, target),
    done: ({ tasks, targets }) => `${counted(Number(tasks), 'task')} of ${counted(Number(targets), 'target')} are due.`,
  });

export const pause = (handler: string, target: string | null): Action =>
  action({
    label: 'Pause',
    question: `Pause ${named(handler, target)}?`,
    effect: 'No new call is made until it is resumed. Calls in flight finish, and submits are accepted.',
    ...requestTo('pause', handler, target),
    asks: [REASON],
    done: () => 'Paused.',
  });

export const resume = (handler: string, target: string | null): Action =>
  action({
    label: 'Resume',
    question: `Resume ${named(handler, target)}?`,
    effect: 'Calls are made again at once, whatever the reason of the pause was.',
    ...requestTo('resume', handler, target),
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
    ...requestOf('redriveTasks', { handler }),
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
    ...requestOf('cancelTasks', {}),
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
    ...requestOf('resolveTasks', {}),
    body: { ids, as },
    done: ({ resolved }) => `${counted(Number(resolved), 'task')} resolved.`,
  });

export const resolveBatch = (batch: number, n: number, as: VerdictName): Action =>
  action({
    label: VERDICTS[as].label,
    isFinal: as !== 'created',
    question: `Resolve batch ${batch} with ${counted(n, 'task')}?`,
    effect: `Its outcome is unknown; by your word each task ${VERDICTS[as].effect}.`,
    ...requestOf('resolveBatch', { batch }),
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
    ...requestOf('cancelBatch', { batch }),
  });

const SHOWN_IDS = 5;
/** Names the first ids of `n`. */
export const listed = (ids?: readonly string[], n = ids?.length ?? 0): string => {
  if (ids === undefined) return '';
  const more = n - Math.min(SHOWN_IDS, ids.length);
  return `: ${ids.slice(0, SHOWN_IDS).join(', ')}${more > 0 ? ` and ${number(more)} more` : ''}`;
};

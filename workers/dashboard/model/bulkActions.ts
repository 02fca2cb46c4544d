import type { BulkDryRun, BulkView } from '../../../workflows/contracts/bulk';
import type { TaskState } from '../../../workflows/planning/states';
import type { Action, Found } from './actions';
import { action, listed } from './actions';
import { counted, number, shorten } from './format';
import { requestOf } from './operations';
import { hrefOf } from './place';

/** What is done to all tasks that match a filter, however many there are. */

export interface Where {
  state: TaskState;
  /** Of one task. */
  id?: string | undefined;
  tag?: string | undefined;
  target?: string | undefined;
  /** A part of the error. */
  error?: string | undefined;
  /** What the error has in common with others, as the list of errors has it. */
  errorGroup?: string | undefined;
}

/** What a line of a question holds of an error. */
const LONGEST_ERROR = 120;
const LONGEST_HOW = 400;
const quoted = (text: string): string => `“${shorten(text, LONGEST_ERROR)}”`;

/** Says which tasks are meant: `dead tasks of target se of orders whose error contains “502”`. */
const describeWhere = (handler: string, { state, id, tag, target, error, errorGroup }: Where): string =>
  [
    `${state === 'created' ? 'waiting' : state} tasks of`,
    ...(target === undefined ? [] : [`target ${target} of`]),
    handler,
    ...(id === undefined ? [] : [`with the id ${quoted(id)}`]),
    ...(tag === undefined ? [] : [`with the tag ${quoted(tag)}`]),
    ...(error === undefined ? [] : [`whose error contains ${quoted(error)}`]),
    ...(errorGroup === undefined ? [] : [`with the error ${quoted(errorGroup)}`]),
  ].join(' ');

const foundBy = (answer: Readonly<Record<string, unknown>>): Found => {
  const { count, complete, sample } = answer as unknown as BulkDryRun;
  if (count === 0) return { n: 0, text: 'No task matches now.' };
  const which = listed(
    sample.map(({ id }) => id),
    count,
  );
  const matches = count === 1 ? 'matches' : 'match';
  return { n: count, text: `${complete ? '' : 'At least '}${counted(count, 'task')} ${matches} now${which}.` };
};

interface Given {
  label: string;
  does: string;
  effect: string;
  /** The action itself. */
  how: object;
  isFinal?: boolean;
}

const LATER = 'The workers do it in steps; it can be followed and stopped.';

const bulk = (handler: string, where: Where, { label, does, effect, how, isFinal = false }: Given): Action =>
  action({
    label,
    isFinal,
    question: `${does} all ${describeWhere(handler, where)}?`,
    effect: `${effect} ${LATER}`,
    ...requestOf('startBulk', {}),
    isKeyed: true,
    body: { handler, where, action: how },
    dryRun: { path: requestOf('dryRunBulk', {}).path, found: foundBy },
    done: () => 'Started.',
    goesTo: ({ id }) => ({ href: hrefOf(['bulk', String(id)]), text: 'See how far it is' }),
  });

const REDRIVES: Partial<Record<TaskState, string>> = {
  failed: 'They are sent again with fresh attempts.',
  dead: 'They are sent again with fresh attempts.',
  unknown: 'They are sent again with fresh attempts. Some may have had their effect.',
  succeeded: 'They had their effect, and are sent once more: their results are gone, and callbacks are sent again.',
};

const redriveAll = (handler: string, where: Where): Action =>
  bulk(handler, where, {
    label: 'Redrive all',
    does: 'Redrive',
    effect: REDRIVES[where.state] ?? '',
    how: { do: 'redrive' },
    isFinal: where.state === 'succeeded',
  });

/** Tasks that wait for their time, or for another attempt, wait no longer. */
const sendAllNow = (handler: string, where: Where): Action =>
  bulk(handler, where, {
    label: 'Send all now',
    does: 'Do not delay any longer',
    effect: 'What waits for its time or for another attempt joins the next batch. Limits and pauses still hold.',
    how: { do: 'update', notBefore: null },
  });

const cancelAll = (handler: string, where: Where): Action =>
  bulk(handler, where, {
    label: 'Cancel all',
    does: 'Cancel',
    effect: 'Tasks that are in no batch yet end as cancelled.',
    how: { do: 'cancel' },
    isFinal: true,
  });

const resolveAll = (handler: string, where: Where, as: 'succeeded' | 'failed'): Action =>
  bulk(handler, where, {
    label: as === 'succeeded' ? 'All succeeded' : 'All failed',
    does: `Resolve as ${as}`,
    effect: `The outcome of each is unknown; by your word it ends as ${as}.`,
    how: { do: 'resolve', as },
    isFinal: true,
  });

/** Returns what can be done to all tasks of a list. */
export const actionsOnAll = (handler: string, where: Where): Action[] => [
  ...(where.state in REDRIVES ? [redriveAll(handler, where)] : []),
  ...(where.state === 'unknown' ? (['succeeded', 'failed'] as const).map((as) => resolveAll(handler, where, as)) : []),
  ...(where.state === 'created' ? [sendAllNow(handler, where), cancelAll(handler, where)] : []),
];

const STATES_OF_ERRORS = { dead: 'dead', failed: 'failed', unknown: 'unknown', retrying: 'created' } as const;

/** Returns what can be done to the tasks of a group of errors. */
export const actionsOnErrors = (
  handler: string | null,
  of: keyof typeof STATES_OF_ERRORS | 'callback',
  errorGroup: string,
): Action[] => {
  if (handler === null || of === 'callback') return [];
  const where = { state: STATES_OF_ERRORS[of], errorGroup };
  return [of === 'retrying' ? sendAllNow(handler, where) : redriveAll(handler, where)];
};

/** Returns how many tasks it has looked at. */
export const lookedAt = ({ done, skipped, failed }: BulkView): number => done + skipped + failed;

export const isBulkOpen = ({ state }: BulkView): boolean => state === 'counting' || state === 'working';

type Described = Pick<BulkView, 'handler' | 'action' | 'where'>;

/** Says in one sentence what it does. */
export const describeBulk = ({ handler, action: { do: does, ...how }, where }: Described): string => {
  const { state, id, tag, target, error, errorCode, errorGroup, since, until } = where as unknown as Where & Others;
  const more = [
    ...(errorCode === undefined ? [] : [`in whose error ${errorCode} stands`]),
    ...(since === undefined ? [] : [`since ${since}`]),
    ...(until === undefined ? [] : [`until ${until}`]),
    ...(Object.keys(how).length === 0 ? [] : [`as ${shorten(JSON.stringify(how), LONGEST_HOW)}`]),
  ];
  return [does, describeWhere(handler, { state, id, tag, target, error, errorGroup }), ...more].join(' ');
};
interface Others {
  errorCode?: string;
  since?: string;
  until?: string;
}

export const stopBulk = (view: BulkView): Action =>
  action({
    label: 'Stop',
    question: `Stop after ${number(lookedAt(view))} of ${counted(view.total, 'task')}: ${describeBulk(view)}?`,
    effect: 'No further task is changed. What was changed stays so.',
    ...requestOf('stopBulk', { bulk: view.id }),
    done: () => 'Stopped.',
  });

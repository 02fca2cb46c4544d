import { describeValue, wordOf, wordOfShared } from '../../../workflows/planning/limits/describe';
import type { LimitName } from '../../../workflows/planning/limits/limits';
import { LIMIT_NAMES, TARGET_LIMIT_NAMES } from '../../../workflows/planning/limits/limits';
import type { SharedLimitName } from '../../../workflows/planning/limits/sharing';
import type { Action, Choices, Field, Given } from './actions';
import { action } from './actions';
import type { Request } from './operations';
import { requestOf } from './operations';
import { FOLLOWED } from '../../../workflows/planning/limits/followed';

/** Limits that are set while workers run, and removed. */

const RATES = [
  ['calls', 'rate, in calls'],
  ['items', 'rate, in tasks'],
  ['weight', 'rate, in weight'],
] as const;

const choicesOf = (names: readonly LimitName[]): Choices => [
  ...RATES,
  ...names.filter((name) => name !== 'rate').map((name) => [name, wordOf(name)] as const),
];
const OF_HANDLER = choicesOf(LIMIT_NAMES);
const OF_TARGET = choicesOf(TARGET_LIMIT_NAMES);
const OF_SHARED: Choices = [...RATES, ['concurrency', wordOfShared('concurrency')]];

/** For how long it counts, in ms; empty: until it is removed. */
const LASTING: Choices = [
  ['', 'until it is removed'],
  ['600000', 'for 10 minutes'],
  ['3600000', 'for an hour'],
  ['86400000', 'for a day'],
];
const fieldsOf = (choices: Choices): Field[] => [
  { name: 'limit', label: 'Limit', choices, value: choices[0]![0] },
  { name: 'value', label: 'At most', isNeeded: true },
  { name: 'seconds', label: 'A rate: per so many seconds', value: '1' },
  { name: 'forMs', label: 'It counts', choices: LASTING, value: '' },
];

/** Returns the number that was given; what is none, or nothing, is left for the API to refuse. */
const numberIn = (text: string): number | string =>
  text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;

/** Returns a limit as the API takes it, by the name that it has in lists. */
const named = (limit: string, value: unknown): object => {
  const [name, of] = limit.split('.') as [string, string?];
  return { [name]: of === undefined ? value : { [of]: value } };
};

/** Returns what the API takes, from what was given. */
const settingsWith = ({ limit = '', value = '', seconds = '', forMs = '' }: Given): object => {
  const most = numberIn(value);
  const lasting = forMs === '' ? {} : { forMs: Number(forMs) };
  if (RATES.some(([unit]) => unit === limit)) {
    const per = numberIn(seconds);
    const perMs = typeof per === 'number' ? Math.round(per * 1_000) : per;
    return { rate: { limit: most, perMs, unit: limit }, ...lasting };
  }
  return { ...named(limit, most), ...lasting };
};

/** Changes nothing that the preview of a limit shows. */
const AS_DEFINED = { rate: null };

const setting = (of: string, choices: Choices, request: Request): Action =>
  action({
    label: 'Set a limit',
    scope: 'admin',
    question: `Set a limit of ${of} in place of what is defined?`,
    effect: `Other limits stay as they are; a rate replaces all rates. ${FOLLOWED}`,
    ...request,
    asks: fieldsOf(choices),
    bodyWith: settingsWith,
    previewBody: AS_DEFINED,
    done: changedText,
  });
const removing = (of: string, request: Request, what: string): Action =>
  action({
    label: 'Remove limits',
    scope: 'admin',
    question: `Remove all limits that were set of ${of}?`,
    effect: `${what} ${FOLLOWED}`,
    ...request,
    done: changedText,
  });

const removingOne = (of: string, limit: string, word: string, request: Request): Action =>
  action({
    label: `Remove ${word}`,
    scope: 'admin',
    question: `Remove the limit that was set of ${of}: ${word}?`,
    effect: `What is defined counts again; other limits stay as they are. ${FOLLOWED}`,
    ...request,
    body: named(limit, null),
    done: changedText,
  });

interface Changed {
  limit: string;
  from: Parameters<typeof describeValue>[0];
  to: Parameters<typeof describeValue>[0];
}
const changedText: Action['done'] = ({ changed }) => {
  const all = changed as readonly Changed[];
  if (all.length === 0) return 'Nothing counts differently.';
  const texts = all.map(({ limit, from, to }) => `${limit}: ${describeValue(from)}, now ${describeValue(to)}`);
  return `${texts.join('; ')}.`;
};

/** Returns what can be done to the limits of a handler. */
const ofHandler = (handler: string): Action[] => [
  setting(`handler ${handler}`, OF_HANDLER, requestOf('setLimits', { handler })),
  removing(`handler ${handler}`, requestOf('removeLimits', { handler }), 'Its definition counts again.'),
];
const ofTarget = (handler: string, target: string): Action[] => {
  const [of, params] = [`target ${target} of ${handler}`, { handler, target }];
  return [
    setting(of, OF_TARGET, requestOf('setTargetLimits', params)),
    removing(of, requestOf('removeTargetLimits', params), 'The limits of its handler count again.'),
  ];
};
const settable = ([set, remove]: readonly Action[], areSet: boolean): Action[] => (areSet ? [set!, remove!] : [set!]);

/** Returns what can be done to the limits of a handler, or of one of its targets. */
export const limitActions = (handler: string, target: string | null, areSet: boolean): Action[] =>
  settable(target === null ? ofHandler(handler) : ofTarget(handler, target), areSet);

/** Takes one limit back that was set, of a handler or of one of its targets. */
export const removeLimit = (handler: string, target: string | null, limit: LimitName): Action =>
  target === null
    ? removingOne(`handler ${handler}`, limit, wordOf(limit), requestOf('setLimits', { handler }))
    : removingOne(
        `target ${target} of ${handler}`,
        limit,
        wordOf(limit),
        requestOf('setTargetLimits', { handler, target }),
      );

/** Takes one of the values of a shared limit back that was set. */
export const removeSharedValue = (name: string, limit: SharedLimitName): Action =>
  removingOne(`shared limit ${name}`, limit, wordOfShared(limit), requestOf('setSharedLimit', { name }));

/** Returns what can be done to a limit that handlers share. */
export const sharedLimitActions = (name: string, areSet: boolean): Action[] => {
  const [of, params] = [`shared limit ${name}`, { name }];
  const set = setting(of, OF_SHARED, requestOf('setSharedLimit', params));
  const remove = removing(of, requestOf('removeSharedLimit', params), 'Its definition counts again.');
  return settable(
    [
      { ...set, label: 'Set shared limit' },
      { ...remove, label: 'Remove what is set' },
    ],
    areSet,
  );
};

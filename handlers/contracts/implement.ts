import { UNLIMITED_CALLS } from '../../workflows/planning/lanes/tokens';
import { callable, problemsOf, settings } from '../checks';
import type { Problem } from '../configError';
import { ConfigError } from '../configError';
import { callShape, crossProblems } from '../settings';
import { show } from '../text';
import type { Contract, Handler, Implementation, Rate, SharedLimit } from '../types';
import { agreed, isContract, subjectOf } from './defineContract';

/** The functions of an implementation, beside the settings that one in JSON has, too. */
export const callFunctions = {
  submit: callable('(batch, context) => answer'),
  status: callable('(references, context) => statuses').optional(),
  results: callable('(reference, context) => results').optional(),
  cancel: callable('(reference, context)').optional(),
  reconcile: callable('(batch, context) => answer').optional(),
  trial: callable('() => trial').optional(),
};

const implementationSchema = settings({ ...callShape, ...callFunctions });

/** Settings that mean nothing without another one (`needs`), and why. */
const NEEDS: readonly (readonly [setting: string, needs: string, why: string])[] = [
  ['status', 'results', 'an accepted batch that is done must be read'],
  ['absentAfterMs', 'reconcile', 'nothing else can answer absent'],
];

/** Returns the problems of call settings that are valid separately but not together. */
export function callProblems(options: unknown): Problem[] {
  const given = (typeof options === 'object' && options !== null ? options : {}) as Record<string, unknown>;
  const lacking = NEEDS.filter(([setting, needs]) => given[setting] !== undefined && given[needs] === undefined);
  // `deadlineMs` alone is allowed: it limits the wait for a completion from outside.
  const polls = (given['poll'] as { everyMs?: unknown } | undefined)?.everyMs !== undefined;
  return [
    ...lacking.map(([setting, needs, why]) => ({
      path: setting,
      message: `expected ${needs} beside it, got nothing: ${why}`,
    })),
    ...(polls && given['status'] === undefined
      ? [{ path: 'poll', message: 'expected status beside it, got nothing: there is nothing to poll' }]
      : []),
  ];
}

/**
 * Returns the default of `timeoutMs`. It is shorter for ordered handlers, since a whole lane waits
 * for its head.
 */
export const defaultTimeoutMs = (isOrdered: boolean): number => (isOrdered ? 15_000 : 30_000);

const listOf = (rate: Rate | Rate[] | undefined): Required<Rate>[] =>
  (rate === undefined ? [] : [rate].flat()).map((r) => ({ ...r, scope: r.scope ?? 'handler' }));

const sharedOf = (shared: SharedLimit | undefined): Handler['sharesLimit'] =>
  shared === undefined
    ? null
    : { name: shared.name, rates: [shared.rate ?? []].flat(), concurrency: shared.concurrency ?? null };

/** Marks handlers that were made by `defineHandler`, even by another copy of this module. */
const MADE = Symbol.for('muster.handler');
/**
 * Says whether a value was made by `defineHandler`, `implement` or `httpHandler` of any copy of
 * this package.
 */
export const isHandler = (value: unknown): value is Handler =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[MADE] === true;

/** Makes a contract a handler: fills in the defaults of a checked implementation. */
export function fillHandler<P, I = P>(
  contract: Contract<P, I>,
  how: Implementation<P>,
  preview?: Handler<P>['preview'],
): Handler<P, I> {
  const { retry, poll } = how;
  // In lanes the order and the submitters are the limit, so only settings that were given count.
  const [perTarget, perHandler] = contract.ordered ? [UNLIMITED_CALLS, UNLIMITED_CALLS] : [4, 32];
  const handler: Handler<P, I> = {
    ...contract,
    linger: { lingerMs: how.linger?.lingerMs ?? 1_000, quietPeriodMs: how.linger?.quietPeriodMs },
    concurrency: {
      perTarget: how.concurrency?.perTarget ?? perTarget,
      perHandler: how.concurrency?.perHandler ?? perHandler,
    },
    rates: listOf(how.rate),
    sharesLimit: sharedOf(how.sharesLimit),
    retry: {
      inPlace: { times: retry?.inPlace?.times ?? 2, baseMs: retry?.inPlace?.baseMs ?? 250 },
      delayed: defaultsWithin(retry?.delayed?.baseMs, 1_000, retry?.delayed?.maxMs, 300_000, 'baseMs', 'maxMs'),
      maxAttempts: retry?.maxAttempts ?? 10,
    },
    timeoutMs: how.timeoutMs ?? defaultTimeoutMs(contract.ordered),
    idempotency: how.idempotency ?? 'none',
    onUnknown: how.onUnknown ?? 'park',
    bisect: how.bisect ?? true,
    submit: how.submit,
    status: how.status,
    results: how.results,
    cancel: how.cancel,
    reconcile: how.reconcile,
    absentAfterMs: how.absentAfterMs ?? 0,
    poll: {
      ...defaultsWithin(poll?.everyMs, 5_000, poll?.deadlineMs, 86_400_000, 'everyMs', 'deadlineMs'),
      idleMs: poll?.idleMs ?? 300_000,
    },
    retentionMs: how.retentionMs ?? 7 * 86_400_000,
    trial: how.trial,
    preview,
  };
  return Object.freeze(Object.defineProperty(agreed(handler), MADE, { value: true }));
}

/**
 * Fills in two settings of which the first must not exceed the second. The default of one adapts to
 * a given value of the other.
 */
function defaultsWithin<S extends string, L extends string>(
  small: number | undefined,
  smallDefault: number,
  large: number | undefined,
  largeDefault: number,
  smallName: S,
  largeName: L,
): Record<S | L, number> {
  const most = large ?? Math.max(largeDefault, small ?? 0);
  return { [smallName]: small ?? Math.min(smallDefault, most), [largeName]: most } as Record<S | L, number>;
}

/**
 * Returns the handler that serves a contract: `how` is its `submit`, or all that says how calls are
 * made. It is what `defineHandler` returns for both at once. Throws one `ConfigError` that lists
 * all problems.
 */
export function implement<P, I = P>(
  contract: Contract<P, I>,
  how: Implementation<P>['submit'] | Implementation<P>,
): Handler<P, I> {
  if (!isContract(contract)) {
    const message = `expected what defineContract returns, got ${show(contract)}`;
    throw new ConfigError(subjectOf(contract), [{ path: 'contract', message }]);
  }
  const options = typeof how === 'function' ? { submit: how } : how;
  const { service, lane, ordered } = contract;
  const both = { ...options, service, ...(ordered ? { lane } : {}) };
  const problems = [...problemsOf(implementationSchema, options), ...crossProblems(both), ...callProblems(options)];
  if (problems.length > 0) throw new ConfigError(subjectOf(contract), problems);
  return fillHandler(contract, options);
}

/**
 * Returns a handler with the defaults of a contract that nothing here serves: what is known of it
 * where tasks arrive before the first worker that does.
 */
export const unserved = (contract: Contract): Handler =>
  fillHandler(contract, { submit: () => Promise.reject(new Error(`handler ${contract.name} is not served here`)) });

import { z } from 'zod';
import { LOOK_UP_AGAIN_MS, LOOK_UPS_MAX } from '../workflows/planning/lanes/unknown';
import { OVERDUE_MAX } from '../workflows/planning/lanes/pendingDeadline';
import { UNLIMITED_CALLS } from '../workflows/planning/lanes/tokens';
import { callable, problemsOf, settings } from './checks';
import type { Problem } from './configError';
import { ConfigError } from './configError';
import { commonShape, crossProblems } from './settings';
import type { Affinity, Handler, HandlerOptions, Rate } from './types';

const optionsSchema = settings({
  ...commonShape,
  schema: z
    .custom((v) => typeof v === 'object' && v !== null && 'safeParse' in v, { error: 'expected a zod schema' })
    .optional(),
  target: callable('(payload) => string, the batch key'),
  bytesOf: callable('(payload, id) => bytes').optional(),
  weightOf: callable('(payload) => weight').optional(),
  distinctBy: callable('(payload) => key').optional(),
  service: callable('(target, payload) => service').optional(),
  reads: callable('(payload) => keys').optional(),
  writes: callable('(payload) => keys').optional(),
  submit: callable('(batch, context) => answer'),
  status: callable('(references, context) => statuses').optional(),
  results: callable('(reference, context) => results').optional(),
  cancel: callable('(reference, context)').optional(),
  reconcile: callable('(batch, context) => answer').optional(),
  trial: callable('() => trial').optional(),
});

/** Settings that mean nothing without another one (`needs`), and why. */
const NEEDS: readonly (readonly [setting: string, needs: string, why: string])[] = [
  ['status', 'results', 'an accepted batch that is done must be read'],
  ['absentAfterMs', 'reconcile', 'nothing else can answer absent'],
];

function optionProblems(options: unknown): Problem[] {
  const given = (typeof options === 'object' && options !== null ? options : {}) as Record<string, unknown>;
  const lacking = NEEDS.filter(([setting, needs]) => given[setting] !== undefined && given[needs] === undefined);
  // `deadlineMs` alone is allowed: it limits the wait for a completion from outside.
  const polls = (given['poll'] as { everyMs?: unknown } | undefined)?.everyMs !== undefined;
  return [
    ...problemsOf(optionsSchema, options),
    ...crossProblems(options),
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
 * Returns the number of UTF-8 bytes of the payload's JSON, which the default `bytesOf` counts and
 * `maxPayloadBytes` limits.
 */
export const jsonBytes = (payload: unknown): number => Buffer.byteLength(JSON.stringify(payload) ?? 'null');

/**
 * Returns the default of `timeoutMs`. It is shorter for ordered handlers, since a whole lane waits
 * for its head.
 */
export const defaultTimeoutMs = (isOrdered: boolean): number => (isOrdered ? 15_000 : 30_000);

const listOf = (rate: Rate | Rate[] | undefined): Required<Rate>[] =>
  (rate === undefined ? [] : [rate].flat()).map((r) => ({ ...r, scope: r.scope ?? 'handler' }));

/**
 * Says whether all tasks of a handler go through lanes, so that no batch outside of lanes can
 * overtake a lane batch.
 */
const isOrdered = (options: { service?: unknown; lane?: unknown }): boolean =>
  options.service !== undefined || options.lane !== undefined;

/** Marks handlers that were made by `defineHandler`, even by another copy of this module. */
const MADE = Symbol.for('muster.handler');
/**
 * Says whether a value was made by `defineHandler` or `httpHandler` of any copy of this package.
 */
export const isHandler = (value: unknown): value is Handler =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[MADE] === true;

const DEFAULT_PARTITIONS = 32;
const affinityOf = (given: HandlerOptions['affinity']): Affinity | null => {
  if (given === undefined) return null;
  const { partitions = DEFAULT_PARTITIONS, attributes = {} } = given === 'partition' ? {} : given;
  return { partitions, attributes };
};

/** Fills in the defaults of checked options, which `types.ts` documents. */
export function fillDefaults<P, I = P>(options: HandlerOptions<P, I>, preview?: Handler<P>['preview']): Handler<P, I> {
  const { limits, retry, poll } = options;
  const handler: Handler<P, I> = {
    name: options.name,
    description: options.description ?? '',
    schema: options.schema ?? (z.unknown() as unknown as z.ZodType<P, I>),
    target: options.target,
    bytesOf: options.bytesOf ?? jsonBytes,
    weightOf: options.weightOf ?? (() => 1),
    distinctBy: options.distinctBy,
    limits: {
      ...limits,
      overheadBytes: limits.overheadBytes ?? 0,
      minItems: limits.minItems ?? 1,
      maxWeightInFlight: { ...limits.maxWeightInFlight },
    },
    linger: { lingerMs: options.linger?.lingerMs ?? 1_000, quietPeriodMs: options.linger?.quietPeriodMs },
    // In lanes the order and the submitters are the limit, so only settings that were given count.
    concurrency: {
      perTarget: options.concurrency?.perTarget ?? (isOrdered(options) ? UNLIMITED_CALLS : 4),
      perHandler: options.concurrency?.perHandler ?? (isOrdered(options) ? UNLIMITED_CALLS : 32),
    },
    rates: listOf(options.rate),
    retry: {
      inPlace: { times: retry?.inPlace?.times ?? 2, baseMs: retry?.inPlace?.baseMs ?? 250 },
      delayed: defaultsWithin(retry?.delayed?.baseMs, 1_000, retry?.delayed?.maxMs, 300_000, 'baseMs', 'maxMs'),
      maxAttempts: retry?.maxAttempts ?? 10,
    },
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs(isOrdered(options)),
    idempotency: options.idempotency ?? 'none',
    onUnknown: options.onUnknown ?? 'park',
    bisect: options.bisect ?? true,
    submit: options.submit,
    status: options.status,
    results: options.results,
    cancel: options.cancel,
    reconcile: options.reconcile,
    absentAfterMs: options.absentAfterMs ?? 0,
    poll: defaultsWithin(poll?.everyMs, 5_000, poll?.deadlineMs, 86_400_000, 'everyMs', 'deadlineMs'),
    service: options.service,
    reads: options.reads,
    writes: options.writes,
    lane: {
      kind: options.lane?.kind ?? 'non-guaranteed',
      approach: options.lane?.approach ?? 'serial',
      onInvalid: options.lane?.onInvalid ?? 'continue',
      lookUps: options.lane?.lookUps ?? LOOK_UPS_MAX,
      lookUpEveryMs: options.lane?.lookUpEveryMs ?? LOOK_UP_AGAIN_MS,
      deadlines: options.lane?.deadlines ?? OVERDUE_MAX,
      dependencies: options.lane?.dependencies ?? 'held',
      ...(options.lane?.pendingLimit === undefined ? {} : { pendingLimit: options.lane.pendingLimit }),
    },
    ordered: isOrdered(options),
    leaders: options.leaders ?? 'auto',
    affinity: affinityOf(options.affinity),
    maxQueued: { ...options.maxQueued },
    retentionMs: options.retentionMs ?? 7 * 86_400_000,
    maxPayloadBytes: options.maxPayloadBytes ?? 262_144,
    trial: options.trial,
    preview,
  };
  return Object.freeze(Object.defineProperty(handler, MADE, { value: true }));
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

/** Returns the subject of a handler's errors, such as `handler "orders"`. */
export const subjectOf = (options: unknown): string => {
  const name = (options as { name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== ''
    ? `handler "${name.slice(0, 80)}"`
    : 'a handler without a readable name';
};

/**
 * Returns a handler: checks the options, and fills in the defaults. Throws one `ConfigError` that
 * lists all problems.
 */
export function defineHandler<P, I = P>(options: HandlerOptions<P, I>): Handler<P, I> {
  const problems = optionProblems(options);
  if (problems.length > 0) throw new ConfigError(subjectOf(options), problems);
  return fillDefaults(options);
}

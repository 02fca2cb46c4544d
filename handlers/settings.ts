import { z } from 'zod';
import type { BatchLimits } from '../workflows/planning/calls/plans';
import { MAX_LINGER_MS } from '../workflows/planning/grouping/longest';
import { above0, either, flag, oneOf, settings, text, whole } from './checks';
import type { Problem } from './configError';
import { MAX_PAYLOAD_VERSION } from './contracts/payloadVersion';
import { show } from './text';
import type { Affinity, Handler, Idempotency, LaneRules, Rate, SharedLimit } from './types';
import { RATE_UNITS } from './types';
import { HOLD_SCOPES } from './contract';
import { DAY_MS } from '../workflows/planning/duration';
import { climbs } from '../workflows/planning/urlPath';
import { APPROACHES, LANE_KINDS } from '../workflows/planning/lanes/types';

const namesIn = <T extends object>(table: T): (keyof T & string)[] => Object.keys(table) as (keyof T & string)[];

/**
 * Settings that handlers in TypeScript and in JSON share: limits, waits, rates and policies, which
 * `types.ts` documents.
 */

const BYTES_MAX = 1_073_741_824;
const calls = () => whole(1, 10_000, 'calls');
const inFlight = () => calls().optional();
const queued = () => whole(1, 1_000_000_000, 'tasks').optional();

const limits = settings({
  maxItems: whole(1, 100_000, 'tasks'),
  maxBytes: whole(1, BYTES_MAX, 'bytes').optional(),
  overheadBytes: whole(0, BYTES_MAX, 'bytes').optional(),
  maxWeight: above0('a number').optional(),
  minItems: whole(1, 100_000, 'tasks').optional(),
  maxWeightInFlight: settings({
    perTarget: above0('a number').optional(),
    perHandler: above0('a number').optional(),
  }).optional(),
});

const rate = settings({
  limit: above0('a number'),
  perMs: above0('milliseconds'),
  unit: oneOf(RATE_UNITS),
  scope: oneOf(HOLD_SCOPES).optional(),
});

const retry = settings({
  // These waits hold a slot, so they are few and short.
  inPlace: settings({ times: whole(0, 20).optional(), baseMs: whole(0, 60_000, 'milliseconds').optional() }).optional(),
  delayed: settings({
    baseMs: whole(1, DAY_MS, 'milliseconds').optional(),
    maxMs: whole(1, 30 * DAY_MS, 'milliseconds').optional(),
  }).optional(),
  maxAttempts: whole(1, 10_000, 'attempts').optional(),
});

/** A name is a part of paths: there `.` and `..` are none. */
const name = () =>
  text(
    '1-64 characters of a-z, A-Z, 0-9, _, - and ., not . or .. alone',
    (v) => /^[\w.-]{1,64}$/.test(v) && !climbs(v),
  );

/** The settings of a contract. */
export const contractShape = {
  name: name(),
  description: text('text of at most 2,000 characters', (v) => v.length <= 2_000).optional(),
  limits,
  lane: settings({
    kind: oneOf(namesIn(LANE_KINDS)).optional(),
    approach: oneOf(namesIn(APPROACHES)).optional(),
    onInvalid: oneOf(['continue', 'halt']).optional(),
    pendingLimit: whole(1, 1_000_000, 'batches').optional(),
    dependencies: oneOf(['held', 'downstream']).optional(),
    lookUps: whole(1, 1_000, 'look-ups').optional(),
    lookUpEveryMs: whole(1, DAY_MS, 'milliseconds').optional(),
    deadlines: whole(1, 1_000, 'deadlines').optional(),
  }).optional(),
  leaders: either<'auto' | 'target' | number>((v) =>
    typeof v === 'number'
      ? whole(1, 1_024, 'leaders')
      : z.custom((name) => name === 'auto' || name === 'target', {
          error: "expected 'auto', 'target' or a whole number",
        }),
  ).optional(),
  affinity: either<'partition' | Partial<Affinity>>((v) =>
    typeof v === 'object' && v !== null
      ? settings({
          partitions: whole(1, 1_024, 'partitions').optional(),
          attributes: z.record(z.string(), z.string(), { error: 'expected texts by name' }).optional(),
        })
      : z.custom((name) => name === 'partition', { error: "expected 'partition' or {partitions, attributes}" }),
  ).optional(),
  maxQueued: settings({ perTarget: queued(), perHandler: queued() }).optional(),
  maxPayloadBytes: whole(1, 67_108_864, 'bytes').optional(),
  payloadVersion: whole(1, MAX_PAYLOAD_VERSION).optional(),
};

const sharedRate = settings({
  limit: above0('a number'),
  perMs: above0('milliseconds'),
  unit: oneOf(RATE_UNITS),
});
const sharedLimit = settings({
  name: name(),
  rate: either<SharedLimit['rate']>((v) => (Array.isArray(v) ? z.array(sharedRate) : sharedRate)).optional(),
  concurrency: calls().optional(),
});

/** Limits that may be set while workers run; null: as defined. */
export const limitShape = {
  rate: either<Rate | Rate[] | null>((v) =>
    v === null ? z.null() : Array.isArray(v) ? z.array(rate) : rate,
  ).optional(),
  concurrency: settings({
    perTarget: calls().nullable().optional(),
    perHandler: calls().nullable().optional(),
  }).optional(),
  maxWeightInFlight: settings({
    perTarget: above0('a number').nullable().optional(),
    perHandler: above0('a number').nullable().optional(),
  }).optional(),
};

/** The same of a limit that handlers share. */
export const sharedLimitShape = {
  rate: either<SharedLimit['rate'] | null>((v) =>
    v === null ? z.null() : Array.isArray(v) ? z.array(sharedRate) : sharedRate,
  ).optional(),
  concurrency: calls().nullable().optional(),
};

/** The settings by which calls are made, paced and tried again. */
export const callShape = {
  linger: settings({
    lingerMs: whole(0, MAX_LINGER_MS, 'milliseconds').optional(),
    quietPeriodMs: whole(1, MAX_LINGER_MS, 'milliseconds').optional(),
  }).optional(),
  concurrency: settings({ perTarget: inFlight(), perHandler: inFlight() }).optional(),
  rate: either<Rate | Rate[]>((v) => (Array.isArray(v) ? z.array(rate) : rate)).optional(),
  sharesLimit: sharedLimit.optional(),
  retry: retry.optional(),
  // A call that takes more than a day should be accepted by the downstream and polled by `status`.
  timeoutMs: whole(1, DAY_MS, 'milliseconds').optional(),
  idempotency: either<Idempotency>((v) =>
    typeof v === 'object' && v !== null
      ? settings({ by: oneOf(['batch', 'task']), windowMs: above0('milliseconds').optional() })
      : z.custom((name) => name === 'none', { error: "expected 'none', {by: 'batch'} or {by: 'task'}" }),
  ).optional(),
  onUnknown: oneOf(['park', 'resend']).optional(),
  bisect: flag().optional(),
  absentAfterMs: whole(0, 30 * DAY_MS, 'milliseconds').optional(),
  poll: settings({
    everyMs: whole(1, DAY_MS, 'milliseconds').optional(),
    deadlineMs: whole(1, 365 * DAY_MS, 'milliseconds').optional(),
    idleMs: whole(1, DAY_MS, 'milliseconds').optional(),
  }).optional(),
  retentionMs: whole(1, 3_650 * DAY_MS, 'milliseconds').optional(),
};

export const commonShape = { ...contractShape, ...callShape };

/** Pairs of settings of which the first must not exceed the second, and why. */
const ORDERED: readonly (readonly [small: string, large: string, why: string])[] = [
  ['limits.minItems', 'limits.maxItems', 'a batch could never be closed by its size'],
  ['limits.overheadBytes', 'limits.maxBytes', 'no task would fit'],
  ['limits.maxWeight', 'limits.maxWeightInFlight.perTarget', 'a full batch could never be sent'],
  ['limits.maxWeight', 'limits.maxWeightInFlight.perHandler', 'a full batch could never be sent'],
  ['retry.delayed.baseMs', 'retry.delayed.maxMs', 'the first wait would be longer than the longest'],
  ['poll.everyMs', 'poll.deadlineMs', 'it would never be polled'],
];

/**
 * Returns the problems of settings that are valid separately but not together. Reads `raw`
 * unchecked, so that it works beside other problems.
 */
export function crossProblems(raw: unknown): Problem[] {
  const number = (path: string): number => {
    const found = path
      .split('.')
      .reduce<unknown>((v, key) => (v as Record<string, unknown> | null | undefined)?.[key], raw);
    return typeof found === 'number' ? found : NaN;
  };
  const ordered = ORDERED.filter(([small, large]) => number(small) > number(large)).map(([small, large, why]) => ({
    path: small,
    message: `expected at most ${large} (${number(large)}), got ${number(small)}: ${why}`,
  }));
  return [...ordered, ...laneProblems(raw), ...affinityProblems(raw), ...sharedProblems(raw), ...coalesceProblems(raw)];
}

/** Lanes have their own order and submitters: a limit that is shared would hold back all lanes. */
function sharedProblems(raw: unknown): Problem[] {
  const { sharesLimit, service, lane } = (raw ?? {}) as Record<string, unknown>;
  if (sharesLimit === undefined || (service === undefined && lane === undefined)) return [];
  const beside = service === undefined ? 'lane' : 'service';
  const message =
    `expected none beside ${beside}, got ${show(sharesLimit)}: ` +
    'lanes share no limit; set rate and concurrency of this handler alone';
  return [{ path: 'sharesLimit', message }];
}

/**
 * Returns the problems of `coalesceBy`: equal keys of `distinctBy` are all sent, one after the
 * other, and a lane sends what was submitted, in its order.
 */
function coalesceProblems(raw: unknown): Problem[] {
  const { coalesceBy, distinctBy, service, lane } = (raw ?? {}) as Record<string, unknown>;
  if (coalesceBy === undefined) return [];
  const beside = { distinctBy, service, lane };
  const why = {
    distinctBy: 'it sends every task of a key',
    service: 'a lane sends every task in its order',
    lane: 'a lane sends every task in its order',
  };
  return (['distinctBy', 'service', 'lane'] as const)
    .filter((name) => beside[name] !== undefined)
    .map((name) => ({ path: 'coalesceBy', message: `expected none beside ${name}, got both: ${why[name]}` }));
}

function affinityProblems(raw: unknown): Problem[] {
  const { affinity, leaders } = (raw ?? {}) as { affinity?: unknown; leaders?: unknown };
  if (affinity === undefined || leaders === undefined) return [];
  return [
    {
      path: 'leaders',
      message: `expected none beside affinity, got ${show(leaders)}: each partition has its own leader; set affinity.partitions`,
    },
  ];
}

/**
 * Returns the problems of lane settings: a lane that does not wait for commits cannot keep equal
 * `distinctBy` keys apart.
 */
function laneProblems(raw: unknown): Problem[] {
  const { distinctBy, lane } = (raw ?? {}) as { distinctBy?: unknown; lane?: Partial<LaneRules> };
  if (distinctBy === undefined || typeof lane !== 'object' || lane === null || lane.onInvalid === 'halt') return [];
  const { kind, approach } = lane;
  if (approach !== 'unconstrained' && kind !== 'guaranteed') return [];
  const got = approach === 'unconstrained' ? "lane.approach 'unconstrained'" : "lane.kind 'guaranteed'";
  return [
    {
      path: 'distinctBy',
      message: `expected a lane that waits for a commit (approach 'serial' or 'parallel', kind 'non-guaranteed'), got ${got}: equal keys could be in flight together`,
    },
  ];
}

/** Returns the limits of a handler's batches, as the planners take them. */
export const batchLimitsOf = ({ limits, linger }: Pick<Handler, 'limits' | 'linger'>): BatchLimits => {
  const { maxItems, maxBytes, overheadBytes, maxWeight, minItems } = limits;
  return { maxItems, maxBytes, overheadBytes, maxWeight, minItems, ...linger };
};

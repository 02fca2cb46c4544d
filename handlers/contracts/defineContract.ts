import { LOOK_UP_AGAIN_MS, LOOK_UPS_MAX } from '../../workflows/planning/lanes/unknown';
import { OVERDUE_MAX } from '../../workflows/planning/lanes/pendingDeadline';
import { callable, problemsOf, settings } from '../checks';
import { ConfigError } from '../configError';
import { contractShape, crossProblems } from '../settings';
import { z } from 'zod';
import { FIRST_VERSION } from './payloadVersion';
import { anyJson, isSchema } from './schema';
import type { Affinity, Contract, ContractOptions } from './types';

/** The functions of a contract, beside the settings that one in JSON has, too. */
export const contractFunctions = {
  schema: z
    .custom(isSchema, { error: 'expected a schema of zod, valibot, arktype or another library with Standard Schema' })
    .optional(),
  target: callable('(payload) => string, the batch key'),
  bytesOf: callable('(payload, id) => bytes').optional(),
  weightOf: callable('(payload) => weight').optional(),
  distinctBy: callable('(payload) => key').optional(),
  coalesceBy: callable('(payload) => key').optional(),
  service: callable('(target, payload) => service').optional(),
  reads: callable('(payload) => keys').optional(),
  writes: callable('(payload) => keys').optional(),
  upcast: callable('(payload, fromVersion) => payload').optional(),
};

const optionsSchema = settings({ ...contractShape, ...contractFunctions });

/**
 * Returns the number of UTF-8 bytes of the payload's JSON, which the default `bytesOf` counts and
 * `maxPayloadBytes` limits.
 */
export const jsonBytes = (payload: unknown): number => Buffer.byteLength(JSON.stringify(payload) ?? 'null');

/**
 * Says whether all tasks of a handler go through lanes, so that no batch outside of lanes can
 * overtake a lane batch.
 */
const isOrdered = (options: { service?: unknown; lane?: unknown }): boolean =>
  options.service !== undefined || options.lane !== undefined;

const DEFAULT_PARTITIONS = 32;
const affinityOf = (given: ContractOptions['affinity']): Affinity | null => {
  if (given === undefined) return null;
  const { partitions = DEFAULT_PARTITIONS, attributes = {} } = given === 'partition' ? {} : given;
  return { partitions, attributes };
};

/** Marks contracts and handlers, even those of another copy of this module. */
const AGREED = Symbol.for('muster.contract');

/** Says whether a value is a contract, or a handler, of any copy of this package. */
export const isContract = (value: unknown): value is Contract =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[AGREED] === true;

/** Marks a contract or handler. */
export const agreed = <T extends object>(contract: T): T => Object.defineProperty(contract, AGREED, { value: true });

/** Fills in the defaults of checked options, which `types.ts` documents. */
export function fillContract<P, I = P>(options: ContractOptions<P, I>): Contract<P, I> {
  const { limits, lane } = options;
  return {
    name: options.name,
    description: options.description ?? '',
    schema: options.schema ?? (anyJson as Contract<P, I>['schema']),
    target: options.target,
    bytesOf: options.bytesOf ?? jsonBytes,
    weightOf: options.weightOf ?? (() => 1),
    distinctBy: options.distinctBy,
    coalesceBy: options.coalesceBy,
    limits: {
      ...limits,
      overheadBytes: limits.overheadBytes ?? 0,
      minItems: limits.minItems ?? 1,
      maxWeightInFlight: { ...limits.maxWeightInFlight },
    },
    service: options.service,
    reads: options.reads,
    writes: options.writes,
    lane: {
      kind: lane?.kind ?? 'non-guaranteed',
      approach: lane?.approach ?? 'serial',
      onInvalid: lane?.onInvalid ?? 'continue',
      lookUps: lane?.lookUps ?? LOOK_UPS_MAX,
      lookUpEveryMs: lane?.lookUpEveryMs ?? LOOK_UP_AGAIN_MS,
      deadlines: lane?.deadlines ?? OVERDUE_MAX,
      dependencies: lane?.dependencies ?? 'held',
      ...(lane?.pendingLimit === undefined ? {} : { pendingLimit: lane.pendingLimit }),
    },
    ordered: isOrdered(options),
    leaders: options.leaders ?? 'auto',
    affinity: affinityOf(options.affinity),
    maxQueued: { ...options.maxQueued },
    maxPayloadBytes: options.maxPayloadBytes ?? 262_144,
    payloadVersion: options.payloadVersion ?? FIRST_VERSION,
    upcast: options.upcast,
  };
}

/** Returns the subject of the errors of a handler or contract, such as `handler "orders"`. */
export const subjectOf = (options: unknown, kind: 'handler' | 'contract' = 'handler'): string => {
  const name = (options as { name?: unknown } | null | undefined)?.name;
  return typeof name === 'string' && name !== ''
    ? `${kind} "${name.slice(0, 80)}"`
    : `a ${kind} without a readable name`;
};

/**
 * Returns a contract, with which a client submits without the code that makes the calls: checks the
 * options, and fills in the defaults. `implement` makes it a handler. Throws one `ConfigError` that
 * lists all problems.
 */
export function defineContract<P, I = P>(options: ContractOptions<P, I>): Contract<P, I> {
  const problems = [...problemsOf(optionsSchema, options), ...crossProblems(options)];
  if (problems.length > 0) throw new ConfigError(subjectOf(options, 'contract'), problems);
  return Object.freeze(agreed(fillContract(options)));
}

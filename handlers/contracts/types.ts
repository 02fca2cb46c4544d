import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { ApproachName, LaneKind } from '../../workflows/planning/lanes/types';

/**
 * What those who submit tasks and those who handle them agree on. Limits are per call unless a
 * comment says otherwise, and every duration is in milliseconds.
 */

/** How much fits into one call. A limit that is left out does not apply. */
export interface Limits {
  /** Most tasks per batch, 1 to 100,000. */
  maxItems: number;
  /** Most bytes of the encoded call: the sum of `bytesOf(payload, id)`, plus `overheadBytes`. */
  maxBytes?: number;
  /** Bytes of a call besides its tasks; default 0. */
  overheadBytes?: number;
  /** Most weight per batch: the sum of `weightOf(payload)`. */
  maxWeight?: number;
  /** Fewest tasks for the quiet period (not the linger) to close a batch; default 1. */
  minItems?: number;
  /**
   * Most weight in batches that have not ended, per target and per handler (a budget of enqueued
   * tokens).
   */
  maxWeightInFlight?: { perTarget?: number; perHandler?: number };
}

/**
 * Each target is served by one node at a time, the holder of its partition, so that limits are
 * exact within one process and connections stay open.
 */
export interface Affinity {
  /**
   * Number of partitions among which targets (or lanes) are divided, 1 to 1,024, default 32. Should
   * be a few times the number of nodes. It may grow; a lower number has no effect.
   */
  partitions: number;
  /** Attributes that a node must have in `nodes.attributes` of its config file. Default: none. */
  attributes: Readonly<Record<string, string>>;
}

/** How the batches of a lane follow each other. */
export interface LaneRules {
  /**
   * `guaranteed`: the downstream keeps the order in which it accepts batches. Default
   * `non-guaranteed`: the lane keeps the order.
   */
  kind: LaneKind;
  /**
   * `serial` (default): a batch is sent once the one before is committed. `parallel`: earlier, if
   * its reads and writes conflict with no batch before it. `unconstrained`: as soon as a submitter
   * is free.
   */
  approach: ApproachName;
  /**
   * `halt`: an invalid batch stops its lane until an operator skips or fixes it. Default
   * `continue`.
   */
  onInvalid: 'continue' | 'halt';
  /**
   * How often an unknown outcome is looked up (`reconcile`) while the answer is `unsure`, before
   * the batch is parked and halts its lane. Default 5.
   */
  lookUps: number;
  /** Milliseconds between two look-ups. Default 2,000. */
  lookUpEveryMs: number;
  /**
   * The number of deadlines (`poll.deadlineMs`) passed while pending at which a batch is parked and
   * halts its lane. Default 3.
   */
  deadlines: number;
  /**
   * Most pending batches of a lane. At this limit nothing is sent until fewer than half as many are
   * pending. Default: no limit.
   */
  pendingLimit?: number;
  /**
   * Who keeps a batch waiting for the batches that it depends on. `held` (default): Muster does,
   * until they are committed. `downstream`: the downstream does. A batch is then sent as soon as it
   * has accepted those of this handler, and is given their references (`Batch.dependsOn`); for
   * batches of other handlers it is still held.
   */
  dependencies: 'held' | 'downstream';
}

/**
 * A contract as a user writes it: what a client needs to check a task and to compute its target,
 * key, size and weight. `defineContract` checks it and fills in the defaults.
 */
export interface ContractOptions<P = unknown, I = P> {
  /** 1-64 characters of a-z, A-Z, 0-9, `_`, `-`, `.`. */
  name: string;
  description?: string;
  /**
   * Checks, and may transform, the payload when it is submitted: `I` is the submitted payload, `P`
   * the one that the handler receives. Any library with Standard Schema (zod, valibot, arktype),
   * but synchronous. Default: any JSON.
   */
  schema?: StandardSchemaV1<I, P>;
  /** The batch key, computed from the content: 1-512 bytes. Only equal targets share a batch. */
  target: (payload: P) => string;
  /**
   * Encoded size of one task in bytes, including its id if the call carries that. Default: the size
   * of the payload's JSON.
   */
  bytesOf?: (payload: P, id: string) => number;
  /** Weight of one task, at least 0; default 1. */
  weightOf?: (payload: P) => number;
  /**
   * Tasks of a target with equal keys (1-512 bytes) keep their order, and are never in flight
   * together.
   */
  distinctBy?: (payload: P) => string;
  /**
   * Of waiting tasks of a target with equal keys (1-512 bytes) only the last that was submitted is
   * sent; the others end as `cancelled` when it is. Not beside `distinctBy` and lanes.
   */
  coalesceBy?: (payload: P) => string;
  limits: Limits;
  /**
   * Returns the service, 1-512 bytes, in whose lane a target's batches are sent in the order of
   * submission. Must be the same for all tasks of a target; other tasks are refused, and so are
   * `priority` and `notBefore`.
   */
  service?: (target: string, payload: P) => string;
  /**
   * Returns the state keys that a task reads, for the approach `parallel`: 1-256 bytes each, at
   * most 1,000 per batch (`STATE_KEYS_MAX`).
   */
  reads?: (payload: P) => string[];
  /** Returns the state keys that a task writes, likewise. */
  writes?: (payload: P) => string[];
  /**
   * Rules of the handler's lanes. With `lane` (even if empty) or `service`, all tasks of the
   * handler go through lanes. Without `service`, targets are bound to lanes by `submitBatch`, and
   * tasks of a target that is not bound yet are refused.
   */
  lane?: Partial<LaneRules>;
  /** How many leader workflows share the targets, 1 to 1,024. Default `auto`, which is 2. */
  leaders?: 'auto' | 'target' | number;
  /**
   * `partition`: the handler's targets (or lanes) are divided among partitions, each served by one
   * node. Each partition has a leader of its own, so `leaders` is refused. Default: any node makes
   * any call.
   */
  affinity?: 'partition' | Partial<Affinity>;
  /**
   * Most waiting tasks: a submit that would exceed this is refused by `BackloggedError`. Default:
   * no limit.
   */
  maxQueued?: { perTarget?: number; perHandler?: number };
  /** Largest payload in bytes of JSON, up to 64 MiB. Default 256 KiB. */
  maxPayloadBytes?: number;
  /**
   * Version of the payloads that this code submits and handles, 1 to 1,000,000; default 1. It is
   * stored with each task. Raise it where the code that handled the payloads before cannot handle
   * these, or the other way round.
   */
  payloadVersion?: number;
  /**
   * Makes a stored payload of an older version one that would be submitted today: the schema then
   * checks and transforms it. Synchronous. Target, weight and keys stay those of the submit.
   */
  upcast?: (payload: unknown, fromVersion: number) => I;
}

/**
 * A checked contract with all defaults filled in, as `defineContract` returns it; each handler is
 * one, too. Functions of a payload are declared as methods, so that contracts of any payloads fit
 * into a `Contract[]`: each receives only what its own schema has accepted.
 */
export interface Contract<P = unknown, I = P> {
  readonly name: string;
  readonly description: string;
  readonly schema: StandardSchemaV1<I, P>;
  /** As in `ContractOptions`. */
  target(payload: P): string;
  /** As in `ContractOptions`. */
  bytesOf(payload: P, id: string): number;
  /** As in `ContractOptions`. */
  weightOf(payload: P): number;
  /** As in `ContractOptions`. */
  distinctBy?(payload: P): string;
  /** As in `ContractOptions`. */
  coalesceBy?(payload: P): string;
  readonly limits: {
    readonly maxItems: number;
    readonly maxBytes?: number;
    readonly overheadBytes: number;
    readonly maxWeight?: number;
    readonly minItems: number;
    readonly maxWeightInFlight: { readonly perTarget?: number; readonly perHandler?: number };
  };
  /** As in `ContractOptions`. */
  service?(target: string, payload: P): string;
  /** As in `ContractOptions`. */
  reads?(payload: P): string[];
  /** As in `ContractOptions`. */
  writes?(payload: P): string[];
  readonly lane: LaneRules;
  /** All of its tasks go through lanes, since it has a `service` or a `lane`. */
  readonly ordered: boolean;
  readonly leaders: 'auto' | 'target' | number;
  /** Null: any node makes any call. */
  readonly affinity: Affinity | null;
  readonly maxQueued: { readonly perTarget?: number; readonly perHandler?: number };
  readonly maxPayloadBytes: number;
  readonly payloadVersion: number;
  /** As in `ContractOptions`. */
  upcast?(payload: unknown, fromVersion: number): I;
}

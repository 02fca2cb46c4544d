import type { Sealer } from '../../handlers/codec/sealer';
import type { Hooks } from '../../handlers/hooks/types';
import { storedVersionOf } from '../../handlers/contracts/payloadVersion';
import { withinSubmitSpan } from '../../handlers/tracing/submitSpan';
import type { Contract } from '../../handlers/types';
import { withRetries } from '../../postgres/errors';
import type { Queryable } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import * as store from '../../postgres/lanes/laneBatch';
import { insertLabels } from '../../postgres/grouping/labels';
import { lockLanes } from '../../postgres/lanes/lane';
import { checkDependencies } from '../../workflows/planning/lanes/dependencies';
import { statusName } from '../../workflows/planning/lanes/statuses';
import { FLUSH_REASONS } from '../../workflows/planning/states';
import { askAccepting } from '../tasks/accepting';
import { checkBacklog, inLanes } from '../tasks/backlog';
import { joinTransaction } from '../transactions/join';
import type { BatchInput, CheckedBatch } from './checkBatch';
import { checkBatch } from './checkBatch';
import { InvalidArgumentError, InvalidTaskError, MusterError } from '../errors';
import type { Admit, AdmitLanes } from '../tasks/submitResult';
import type { BoundTarget, TaskInserter } from '../tasks/taskInserter';
import { findKnown, isSamePayload } from '../tasks/repeats';
import { keepObjects, noting } from '../transactions/keptObjects';
import type { SealedBatch } from '../tasks/sealPayloads';
import { sealBatches } from '../tasks/sealPayloads';

/** Options of `batches.submit`. */
export interface SubmitBatchOptions {
  /**
   * The caller's own Postgres transaction, as of `SubmitOptions`: the batch is accepted if and only
   * if it commits. Until then other submits to the same lanes wait. Default: a transaction of
   * Muster's.
   */
  tx?: Queryable;
  /** As of `SubmitOptions`. */
  traceparent?: string;
  /**
   * As of `SubmitOptions`.
   *
   * @internal
   */
  admit?: Admit;
  /**
   * As of `SubmitOptions`.
   *
   * @internal
   */
  admitLanes?: AdmitLanes;
}

/** A batch that its lane has accepted. */
export interface SubmittedBatch {
  /** The number of the batch, for `batches.status`, `dependsOn` and `batches.cancel`. */
  batch: number;
  /** The service of its lane. */
  service: string;
  /** False: exactly these items had already been submitted as this batch. */
  accepted: boolean;
  /**
   * Wakes the queuer of its lane: after a submit with `tx`, once your transaction has committed.
   * Otherwise the sweeper finds the batch within 5 s. Never throws, waits at most half a second for
   * Temporal, and does no harm after a rollback.
   */
  ring(): Promise<void>;
}

/** A batch that was submitted, which knows what to wake. */
export class RingingBatch implements SubmittedBatch {
  readonly batch: number;
  readonly service: string;
  readonly accepted: boolean;
  // Private to the language, so that a batch is printed and compared without it.
  readonly #ring: () => Promise<void>;

  constructor({ batch, service, accepted }: StoredBatch, ring: () => Promise<void>) {
    this.batch = batch;
    this.service = service;
    this.accepted = accepted;
    this.#ring = ring;
  }

  ring(): Promise<void> {
    return this.#ring();
  }
}

/** A batch as it was stored, and its lane. */
export interface StoredBatch {
  batch: number;
  service: string;
  accepted: boolean;
  laneId: number;
}

/** What a call needs of the client. */
export interface BatchSubmitContext {
  readonly inserter: TaskInserter;
  readonly schema: string;
  readonly hooks: Hooks | undefined;
}

export const MAX_BATCHES = 1_000;

/**
 * Stores lane batches in one transaction, in the given order. The caller rings the lanes after the
 * commit.
 */
export const storeBatches = async (
  { inserter, schema, hooks }: BatchSubmitContext,
  handler: Contract,
  inputs: readonly BatchInput[],
  options: SubmitBatchOptions,
): Promise<{ batches: StoredBatch[]; laneIds: number[] }> => {
  if (!(inputs?.length >= 1 && inputs.length <= MAX_BATCHES))
    throw new InvalidArgumentError('batches', `an array of 1 to ${MAX_BATCHES}`, inputs?.length ?? inputs);
  const batches = inputs.map((input, i) => checkBatch(handler, input, inputs.length === 1 ? 'batch' : `batches[${i}]`));
  const items = batches.flatMap(({ tasks }) => tasks);
  await askAccepting(hooks, handler.name, items);
  await options.admit?.(
    items,
    batches.flatMap(({ reads, writes }) => [...reads, ...writes]),
  );
  const registry = inserter.registry(options.tx);
  const sealed = await sealBatches(inserter.sealer, handler, batches, noting(registry, inserter.sealer));
  return inserter.targets.use(async () => {
    const bound = await inserter.bindLanes(registry, handler, batches, options.admitLanes);
    const recipients = new Map<CheckedBatch, (number | null)[]>();
    for (const batch of batches) recipients.set(batch, await inserter.recipients.idsOf(registry, batch.tasks));
    const laneIds = [...new Set(bound.map((one) => one.laneId))];
    const of = { handler: handler.name, tasks: items.length, traceparent: options.traceparent };
    const submitted = await withinSubmitSpan(of, (trace) => {
      const storing = { batches, sealed, bound, recipients, laneIds, trace };
      const work = (db: Queryable): Promise<StoredBatch[]> => storeAll(db, handler, storing, inserter.sealer);
      return options.tx === undefined
        ? withRetries(() => inTransaction(inserter.pool, work))
        : joinTransaction(options.tx, schema, work);
    });
    return { batches: submitted, laneIds };
  });
};

interface Storing {
  batches: readonly CheckedBatch[];
  /** What is stored of the items of each batch. */
  sealed: readonly SealedBatch[];
  bound: readonly BoundTarget[];
  recipients: ReadonlyMap<CheckedBatch, (number | null)[]>;
  laneIds: readonly number[];
  /** The trace context under which they are submitted; null: their trace is not recorded. */
  trace: string | null;
}

const storeAll = async (
  db: Queryable,
  handler: Contract,
  { batches, sealed, bound, recipients, laneIds, trace }: Storing,
  sealer: Sealer | null,
): Promise<StoredBatch[]> => {
  await lockLanes(db, laneIds);
  const targetIds = new Map(batches.map(({ target }, i) => [target, bound[i]!.targetId]));
  await checkBacklog(
    db,
    inLanes,
    handler,
    bound[0]!.handlerId,
    batches.flatMap(({ tasks }) => tasks),
    targetIds,
  );
  const needs = await checkNeeds(db, handler, batches);
  const submitted: StoredBatch[] = [];
  const pairs: { batchId: number; needs: number }[] = [];
  for (const [i, batch] of batches.entries()) {
    const of = recipients.get(batch)!;
    const { payloads, labels } = sealed[i]!;
    const { batchId } = await store.insertLaneBatch(db, {
      ...bound[i]!,
      tasks: batch.tasks.map(({ id, bytes, weight }, at) => ({
        id,
        payload: payloads[at]!,
        bytes,
        weight,
        recipientId: of[at]!,
      })),
      reads: batch.reads,
      writes: batch.writes,
      reason: FLUSH_REASONS.given,
      version: storedVersionOf(handler),
      trace,
    });
    if (batchId !== null) {
      await insertLabels(db, labels);
      await keepObjects(db, sealer, payloads);
    }
    const given = batchId ?? (await findRepeated(db, handler, batch, sealer));
    const { laneId } = bound[i]!;
    submitted.push({ batch: given, service: batch.service, accepted: batchId !== null, laneId });
  }
  for (const [i, { batch: batchId, accepted }] of submitted.entries())
    for (const need of accepted ? needs[i]! : [])
      pairs.push({ batchId, needs: typeof need === 'number' ? need : submitted[need.at]!.batch });
  if (pairs.length > 0) await store.insertDependencies(db, pairs);
  return submitted;
};

/**
 * Returns the dependencies of each batch of the call: stored batches by number, and others by their
 * place in the call. Refuses batches that could never be sent.
 */
const checkNeeds = async (
  db: Queryable,
  handler: Contract,
  batches: readonly CheckedBatch[],
): Promise<(number | { at: number })[][]> => {
  const nameOf = (batch: CheckedBatch, i: number): string => batch.key ?? `#${i}`;
  const places = new Map(batches.map((batch, i) => [nameOf(batch, i), i]));
  const stored = [...new Set(batches.flatMap(({ dependsOn }) => dependsOn.filter((one) => typeof one === 'number')))];
  const known = stored.length === 0 ? [] : await store.lockDependedOn(db, stored);
  const statuses = new Map(known.map(({ batchId, status }) => [String(batchId), statusName(status)]));
  const asked = batches.map((batch, i) => ({
    id: nameOf(batch, i),
    reads: batch.reads,
    writes: batch.writes,
    lane: { service: batch.service, ...handler.lane },
    dependsOn: batch.dependsOn.map(String),
  }));
  let checked: ReturnType<typeof checkDependencies>;
  try {
    checked = checkDependencies(asked, (id) => statuses.get(id));
  } catch (error) {
    throw new MusterError('INVALID_DEPENDENCY', `${(error as Error).message}. Nothing was accepted.`);
  }
  return batches.map((batch, i) => {
    const { waitsFor, failedOn } = checked.get(nameOf(batch, i))!;
    if (failedOn !== null)
      throw new MusterError(
        'INVALID_DEPENDENCY',
        `dependsOn of batch ${nameOf(batch, i)}: expected batches that were or may still be applied, ` +
          `got ${failedOn}, which is ${statuses.get(failedOn) ?? 'not found'} and will never be ` +
          'applied. Nothing was accepted.',
      );
    return waitsFor.map((one) => (places.has(one) ? { at: places.get(one)! } : Number(one)));
  });
};

/**
 * Handles a batch of which some ids exist already. If exactly its items were submitted before as
 * one batch, returns the number of that batch; otherwise throws a conflict.
 */
const findRepeated = async (
  db: Queryable,
  handler: Contract,
  batch: CheckedBatch,
  sealer: Sealer | null,
): Promise<number> => {
  const ids = batch.tasks.map((task) => task.id);
  const given = await store.findGiven(db, ids);
  const [first] = given;
  const payloads = await findKnown(db, batch.tasks, sealer);
  const places = new Map(given.map((task) => [task.id, task]));
  const same =
    first !== undefined &&
    first.n === ids.length &&
    batch.tasks.every((task, i) => {
      const was = places.get(task.id);
      const of = payloads.get(task.id);
      return (
        was?.batchId === first.batchId &&
        was.place === i + 1 &&
        of?.handler === handler.name &&
        isSamePayload(handler, of, task.payload)
      );
    });
  if (same && first.batchId !== null) return first.batchId;
  const taken = batch.tasks.find((task) => payloads.has(task.id))!;
  throw new InvalidTaskError([
    {
      index: taken.index,
      id: taken.id,
      field: 'id',
      code: 'ID_CONFLICT',
      message: `expected new ids, or exactly the items of one batch again; this id was accepted before${places.get(taken.id)?.batchId == null ? '' : ` in batch ${places.get(taken.id)!.batchId}`}`,
    },
  ]);
};

import { storedVersionOf } from '../../handlers/contracts/payloadVersion';
import type { Contract } from '../../handlers/types';
import { withRetries } from '../../postgres/errors';
import * as store from '../../postgres/lanes/control';
import { insertLabels } from '../../postgres/grouping/labels';
import { lockLanes } from '../../postgres/lanes/lane';
import { moveLaneBatch, readyDependents } from '../../postgres/lanes/settle';
import type { Client as Transaction, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { endParkedBatch, readParkedMembers } from '../../postgres/operations/resolve';
import { recordEnds } from '../operations/recordEnds';
import { insertLaneBatch } from '../../postgres/lanes/laneBatch';
import { DEPTH_MAX, SLOTS_MAX, WEIGHT_MAX } from '../../workflows/planning/lanes/limits';
import { STATUSES, statusName } from '../../workflows/planning/lanes/statuses';
import { STRATEGIES } from '../../workflows/planning/lanes/types';
import type { StrategyName } from '../../workflows/planning/lanes/types';
import { BATCH_STATES, FLUSH_REASONS } from '../../workflows/planning/states';
import { checkName, checkOneOf, checkWhole, checkReason } from '../arguments';
import { checkBatch } from './checkBatch';
import type { TaskInput } from '../tasks/checkTasks';
import { InvalidArgumentError, MusterError, NotFoundError, OtherBatchHaltsError } from '../errors';
import { requireLane } from './views';
import { keepObjects, noting } from '../transactions/keptObjects';
import { sealBatches } from '../tasks/sealPayloads';
import type { TaskInserter } from '../tasks/taskInserter';

/**
 * The operator's verbs for lanes. Each of them writes rows and returns the lanes to ring, which the
 * caller (`Lanes`) does after the commit.
 */

export const pauseLane = async (pool: Pool, service: string, reason: string): Promise<number[]> => {
  await requireLane(pool, checkName('service', service));
  return store.pauseLanes(pool, service, checkReason(reason));
};

export const resumeLane = async (pool: Pool, service: string): Promise<number[]> => {
  await requireLane(pool, checkName('service', service));
  return store.resumeLane(pool, service);
};

export const setLaneWeight = async (pool: Pool, service: string, weight: number): Promise<void> => {
  checkWhole('weight', weight, 1, WEIGHT_MAX);
  await requireLane(pool, checkName('service', service));
  await store.setLaneWeight(pool, service, weight);
};

/** How the queuers grant submitters. A setting that is left out stays as it is. */
export interface QueuerSettings {
  /**
   * Number of submitters, which is the number of batches sent at once over all lanes: 1 to 1,000.
   */
  slots?: number;
  /** Which lane is next. */
  strategy?: StrategyName;
  /** Rounds at a time of the strategy `multi-round`: 1 to 1,000. */
  depth?: number;
}

export const setQueuer = async (pool: Pool, settings: QueuerSettings): Promise<number[]> => {
  const { slots, strategy, depth } = settings;
  if (slots === undefined && strategy === undefined && depth === undefined)
    throw new InvalidArgumentError('settings', 'slots, strategy or depth', settings);
  return store.setQueuer(pool, {
    slots: slots === undefined ? null : checkWhole('slots', slots, 1, SLOTS_MAX),
    strategy:
      strategy === undefined
        ? null
        : STRATEGIES[checkOneOf('strategy', strategy, Object.keys(STRATEGIES) as StrategyName[])],
    depth: depth === undefined ? null : checkWhole('depth', depth, 1, DEPTH_MAX),
  });
};

/** Which batch is meant. */
export interface HeadOptions {
  /**
   * The batch that halts the lane; if another one does by now, nothing is changed. Default:
   * whichever halts it.
   */
  batch?: number;
}

/**
 * What to do with the batch that halts a lane. For a batch of unknown outcome: it was applied; or
 * send it again with the same key, by which it may be applied twice, so check the downstream first.
 * For an invalid batch: send these items in its place, before everything that waits.
 */
export type Fix = HeadOptions & ({ as: 'applied' } | { as: 'again' } | { items: readonly TaskInput[] });

type Halted = store.HaltedLane & { haltedBy: number };

export const skipHead = (
  pool: Pool,
  service: string,
  options: HeadOptions = {},
): Promise<{ batch: number; laneIds: number[]; targetIds: number[] }> =>
  onHalted(pool, service, options, async (tx, halted) => {
    if (halted.status === STATUSES.parked) await endParked(tx, halted.haltedBy, false);
    const { targetId } = halted;
    return { ...(await endHalt(tx, halted, halted.haltedBy)), targetIds: targetId === null ? [] : [targetId] };
  });

export const fixHead = async (
  client: { pool: Pool; inserter: TaskInserter; handler(name: string): Contract },
  service: string,
  fix: Fix,
): Promise<{ batch: number; laneIds: number[] }> => {
  const { pool, inserter } = client;
  if (!('items' in fix)) {
    const as = checkOneOf('as', fix?.as, ['applied', 'again'] as const);
    return onHalted(pool, service, fix, async (tx, halted) => {
      if (halted.status !== STATUSES.parked) throw notParked(service, halted);
      if (as === 'applied') await endParked(tx, halted.haltedBy, true);
      else {
        await store.reopenParked(tx, halted.haltedBy);
        await moveLaneBatch(tx, halted.haltedBy, STATUSES.unsubmitted);
      }
      return endHalt(tx, halted, halted.haltedBy);
    });
  }
  const replace = async (tx: Transaction, halted: Halted): Promise<{ batch: number; laneIds: number[] }> => {
    const { handler: name, target, seq, status } = halted;
    if (name === null || target === null || seq === null)
      throw new NotFoundError(
        'batch',
        String(halted.haltedBy),
        'It was deleted after its retention period: `lane skip`, then submit a new one.',
      );
    if (status === STATUSES.parked)
      throw new InvalidArgumentError(
        'items',
        `"applied" or "again" for batch ${halted.haltedBy}, whose outcome is unknown`,
        'items',
      );
    const handler = client.handler(name);
    const batch = checkBatch(handler, { service, items: fix.items });
    // Before it is registered: a refused fix would bind another target to this lane for good.
    if (batch.target !== target)
      throw new InvalidArgumentError('items', 'items of the same target as the batch that they replace', batch.target);
    // Not over the pool, whose only connection this transaction may hold.
    const registry = inserter.registry(tx);
    const [bound] = await inserter.bindLanes(registry, handler, [batch]);
    await lockLanes(tx, [halted.laneId]);
    const recipientIds = await inserter.recipients.idsOf(registry, batch.tasks);
    const { sealer } = inserter;
    const [sealed] = await sealBatches(sealer, handler, [batch], noting(registry, sealer));
    const { batchId } = await insertLaneBatch(tx, {
      ...bound!,
      tasks: batch.tasks.map(({ id, bytes, weight }, i) => ({
        id,
        payload: sealed!.payloads[i]!,
        bytes,
        weight,
        recipientId: recipientIds[i]!,
      })),
      reads: [...new Set([...batch.reads, ...(halted.reads ?? [])])],
      writes: [...new Set([...batch.writes, ...(halted.writes ?? [])])],
      reason: FLUSH_REASONS.given,
      version: storedVersionOf(handler),
      trace: null,
      seq,
    });
    if (batchId === null)
      throw new InvalidArgumentError(
        'items',
        'new ids: the ids of the invalid batch are already used',
        batch.tasks.map(({ id }) => id),
      );
    await insertLabels(tx, sealed!.labels);
    await keepObjects(tx, sealer, sealed!.payloads);
    return endHalt(tx, halted, batchId);
  };
  return inserter.targets.use(() => onHalted(pool, service, fix, replace));
};

const onHalted = async <T>(
  pool: Pool,
  service: string,
  meant: HeadOptions,
  work: (tx: Transaction, halted: Halted) => Promise<T>,
): Promise<T> => {
  await requireLane(pool, checkName('service', service));
  if (meant.batch !== undefined) checkWhole('batch', meant.batch, 1, Number.MAX_SAFE_INTEGER);
  return withRetries(() =>
    inTransaction(pool, async (tx) => {
      const halted = await store.lockHalted(tx, service);
      const haltedBy = checkHead(service, halted?.haltedBy ?? null, meant);
      return work(tx, { ...halted!, haltedBy });
    }),
  );
};

/** Returns the batch that halts a lane. @throws MusterError for none, or another than is meant */
export const checkHead = (service: string, haltedBy: number | null, { batch }: HeadOptions): number => {
  if (haltedBy === null)
    throw new MusterError(
      'NOT_HALTED',
      `lane ${JSON.stringify(service)}: expected a halted lane. Nothing was changed.`,
    );
  if (batch !== undefined && batch !== haltedBy) throw new OtherBatchHaltsError(service, batch, haltedBy);
  return haltedBy;
};

const endHalt = async (
  tx: Transaction,
  halted: Halted,
  batch: number,
): Promise<{ batch: number; laneIds: number[] }> => {
  await store.unhaltLane(tx, halted.laneId);
  return { batch, laneIds: [halted.laneId, ...(await readyDependents(tx, halted.haltedBy))] };
};

/**
 * Ends a batch of unknown outcome by an operator's decision: its tasks end, their recipients are
 * notified, and its dependents continue or fail.
 */
const endParked = async (tx: Transaction, batchId: number, applied: boolean): Promise<void> => {
  const error = applied ? null : 'skipped by an operator: it may have been applied';
  const members = await readParkedMembers(tx, batchId);
  await endParkedBatch(tx, batchId, applied ? BATCH_STATES.succeeded : BATCH_STATES.failed, error);
  await moveLaneBatch(tx, batchId, applied ? STATUSES.committed : STATUSES.skipped);
  await recordEnds(tx, members, { state: applied ? 'succeeded' : 'failed', error });
};

const notParked = (service: string, { haltedBy, status }: Halted): MusterError =>
  new InvalidArgumentError(
    'as',
    `a batch with an unknown outcome; lane ${service} is halted by batch ${haltedBy}`,
    status === null ? 'gone' : statusName(status),
    'Pass corrected items to replace it, or skip it.',
  );

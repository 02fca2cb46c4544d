import * as store from '../../postgres/lanes/view';
import { servedHandlers } from '../../postgres/nodes/node';
import type { Pool } from '../../postgres/pool';
import type { Reduced } from '../../workflows/planning/lanes/explainLane';
import { explainLane } from '../../workflows/planning/lanes/explainLane';
import { laneStateOf } from '../../workflows/planning/lanes/laneState';
import { LISTED_AGE_MAX_MS } from '../../workflows/planning/lanes/limits';
import { isEnded, statusName } from '../../workflows/planning/lanes/statuses';
import { STRATEGIES } from '../../workflows/planning/lanes/types';
import type { Lane } from '../../workflows/planning/lanes/types';
import { PAGE_MAX } from '../../workflows/planning/pages';
import type { LaneBatchView, LaneView, QueuerView } from '../../workflows/contracts/lane';
import { leaderStateName } from '../../workflows/planning/states';
import { checkWhole } from '../arguments';
import { NODE_LIVE_MS } from '../context';
import { NotFoundError } from '../errors';
import type { StateKeys } from './openLanes';
import { addKeys, addKeysOf, nameOf, readLane, viewEach } from './openLanes';

/** Shows lanes to operators: plain JSON, with durations in milliseconds by the database's clock. */

export type { LaneBatchView, LaneView, QueuerView } from '../../workflows/contracts/lane';

/** Which page of lanes to list, ordered by service. */
export interface LanesOptions {
  /** Most lanes: 1 to 1,000; default 100. */
  limit?: number;
  /** The service after which the page starts; default: the page is the first. */
  after?: string;
  /** Only lanes that have something to send; default: all lanes. */
  waiting?: boolean;
  /** Only lanes whose oldest work is this old or older; 0 to 2,147,483,647. */
  olderThanMs?: number;
  /** Only lanes whose service begins with this; default: all lanes. */
  prefix?: string;
  /**
   * Only lanes of these handlers, each a name, or the beginning of names with a `*`; default: all
   * lanes.
   */
  handlers?: readonly string[];
}

export const lanes = async (pool: Pool, options: LanesOptions = {}): Promise<LaneView[]> => {
  const limit = checkWhole('limit', options.limit ?? 100, 1, PAGE_MAX);
  const olderThanMs =
    options.olderThanMs === undefined ? null : checkWhole('olderThanMs', options.olderThanMs, 0, LISTED_AGE_MAX_MS);
  const { after = null, waiting = false, prefix = '', handlers = null } = options;
  const rows = await store.readLanes(pool, { after, limit, waiting, olderThanMs, prefix, handlers });
  const granted = await store.sumGranted(pool);
  return viewEach(pool, rows, (row, planned) => viewOf(row, planned, granted));
};

export const lane = async (
  pool: Pool,
  service: string,
  options: { batches?: number } = {},
): Promise<LaneView & { batches: LaneBatchView[] }> => {
  const limit = checkWhole('batches', options.batches ?? 20, 0, 1_000);
  const row = await requireLane(pool, service);
  const open = await readLane(pool, row, limit);
  const batches = await store.readOpenLaneBatches(pool, row.id, limit);
  const shown = batches.map(({ batchId }) => batchId);
  const { lane: planned, keys } = await addKeys(pool, open, shown);
  const [queuer] = await store.readQueuers(pool);
  const served = await servedHandlers(pool, NODE_LIVE_MS);
  return {
    ...viewOf(row, planned, await store.sumGranted(pool)),
    batches: batches.map((batch) => batchViewOf(batch, keys, row, planned, queuer!, served)),
  };
};

/**
 * Returns a batch with its place in its lane. Null: there is no such lane batch, or it was split,
 * so that its parts are in the lane.
 */
export const batchStatus = async (pool: Pool, batchId: number): Promise<LaneBatchView | null> => {
  checkWhole('batch', batchId, 1, Number.MAX_SAFE_INTEGER);
  const batch = await store.readLaneBatch(pool, batchId);
  if (batch === null) return null;
  const row = await requireLane(pool, batch.service);
  // Reads the batches before this one too, so that those for which it waits are among them.
  const open = await readLane(pool, row, Math.min(1_000, batch.place ?? 1));
  const { lane: planned, keys } = await addKeysOf(pool, open, batchId, batch.place !== null);
  const [queuer] = await store.readQueuers(pool);
  return batchViewOf(batch, keys, row, planned, queuer!, await servedHandlers(pool, NODE_LIVE_MS));
};

export const queuers = async (pool: Pool): Promise<QueuerView[]> =>
  (await store.readQueuers(pool)).map(
    ({ state, strategy, pauseReason, round: _round, expiresInMs: _expiresInMs, ...row }) => ({
      ...row,
      state: leaderStateName(state),
      strategy: nameOf(STRATEGIES, strategy),
      reason: pauseReason,
    }),
  );

export const requireLane = async (pool: Pool, service: string): Promise<store.LaneRowView> => {
  const row = await store.readLane(pool, service);
  if (row === null)
    throw new NotFoundError(
      'service',
      service,
      'A service is known once a batch has been submitted to it: see `muster lanes`.',
    );
  return row;
};

const viewOf = (row: store.LaneRowView, planned: Lane, allGranted: number): LaneView => ({
  service: row.service,
  state: laneStateOf(planned),
  reason: row.haltReason ?? row.pauseReason,
  haltedBy: row.haltedBy,
  depth: row.depth,
  queued: row.queued,
  oldestMs: row.oldestMs === null ? null : Math.round(row.oldestMs),
  pending: row.pending,
  holdInMs: row.holdInMs === null || row.holdInMs <= 0 ? null : Math.round(row.holdInMs),
  callsAllowed: row.callsAllowed,
  weight: row.weight,
  share: allGranted === 0 ? 0 : row.granted / allGranted,
  granted: row.granted,
  kind: planned.kind,
  approach: planned.approach,
  onInvalid: planned.onInvalid,
  partition: row.partition,
});

const batchViewOf = (
  batch: store.LaneBatchRow,
  keys: StateKeys,
  row: store.LaneRowView,
  planned: Lane,
  queuer: store.QueuerRowView,
  served: readonly string[],
): LaneBatchView => {
  const status = statusName(batch.status);
  const { text } = explainLane({
    batchId: batch.batchId,
    status,
    place: isEnded(status) ? 0 : (batch.place ?? 0),
    lane: planned,
    ageMs: new Map(planned.open.map((one) => [one.id, (one as { ageMs?: number }).ageMs ?? 0])),
    queuer: {
      paused: queuer.paused,
      served: served.includes(batch.handler),
      slots: queuer.slots,
      slotsTaken: queuer.taken,
      lanesBefore: Math.max(0, queuer.ready - 1),
    },
    reason: row.haltReason ?? row.pauseReason ?? queuer.pauseReason,
    error: batch.error,
    reduced: reducedOf(batch),
    question: batch,
  });
  const { batchId, service, handler, target, place, n, attempts, error, needs, parts, reference } = batch;
  const times = { createdAt: batch.createdAt.toISOString(), changedAt: batch.changedAt.toISOString() };
  return {
    batch: batchId,
    service,
    handler,
    target,
    status,
    place,
    n,
    attempts,
    error,
    ...(keys.get(batchId) ?? { reads: [], writes: [], keysOmitted: true as const }),
    dependsOn: needs,
    parts,
    reference,
    ...times,
    explanation: text,
  };
};

/**
 * Returns the tighter of the limits that back pressure has left to the batch's target and handler.
 * Null: neither is reduced.
 */
const reducedOf = ({ targetAllowed, handlerAllowed, target, handler }: store.LaneBatchRow): Reduced | null => {
  if (targetAllowed !== null && targetAllowed <= (handlerAllowed ?? Infinity))
    return { calls: targetAllowed, of: `target "${target}"` };
  return handlerAllowed === null ? null : { calls: handlerAllowed, of: `handler "${handler}"` };
};

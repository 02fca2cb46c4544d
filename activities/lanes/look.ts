import { cutLanes } from './cut';
import type { LaneFacts, OpenBatch } from '../../postgres/lanes/grant';
import type { LockedQueuer } from '../../postgres/lanes/queuerLock';
import * as store from '../../postgres/lanes/grant';
import { NODE_LIVE_MS, servedHandlers } from '../../postgres/nodes/node';
import { lockServing } from '../../postgres/nodes/partition';
import { promoteDueLanes } from '../../postgres/lanes/promote';
import { readTokens } from '../../postgres/lanes/tokens';
import type { Client } from '../../postgres/pool';
import { windowOf } from '../../workflows/planning/lanes/approaches';
import { pendingLimitOf } from '../../workflows/planning/lanes/backPressure';
import { planGrants } from '../../workflows/planning/lanes/grants';
import { statusName } from '../../workflows/planning/lanes/statuses';
import type { GrantPlan, HandlerTokens, Lane, QueuedBatch } from '../../workflows/planning/lanes/types';
import { APPROACHES, LANE_KINDS, ON_INVALID, STRATEGIES } from '../../workflows/planning/lanes/types';

/** Only a safety net: a resume rings the lane. */
const PAUSED_LOOK_MS = 3_600_000;
/**
 * A safety net only, for a batch that no live node serves: the node that joins, the balancer and
 * the sweeper mark the lane. All such lanes are looked at together, so that any number of them
 * costs the queuer one turn per minute.
 */
const UNSERVED_LOOK_MS = 60_000;
const nextUnservedLookInMs = (nowMs: number): number => UNSERVED_LOOK_MS - (nowMs % UNSERVED_LOOK_MS);
/** For a lane whose next batch must wait until more batches were cut before it. */
const BLOCKED_LOOK_MS = 1_000;
/** Lanes looked at per grant, beyond one per slot. */
const MORE_LANES = 8;

export interface Look {
  plan: GrantPlan;
  lanes: ReadonlyMap<number, Lane>;
  batches: ReadonlyMap<number, OpenBatch>;
  /**
   * The id of the node that serves a lane, for lanes in partitions only. Their leases are locked
   * until the transaction ends.
   */
  nodes: ReadonlyMap<number, string | null>;
}

/**
 * Reads the lanes that may have something to send, and plans what is next: under the queuer's lock
 * and those lanes'.
 */
export const lookAtLanes = async (
  client: Client,
  queuerId: number,
  queuer: LockedQueuer,
  slots: number,
): Promise<Look> => {
  const strategy = nameOf(STRATEGIES, queuer.strategy);
  await promoteDueLanes(client, queuerId, Math.max(slots, MORE_LANES));
  const { lanes: found, more } = await store.lockReadyLanes(
    client,
    queuerId,
    slots + MORE_LANES,
    strategy === 'single',
  );
  const queues = await cutLanes(client, found);
  const served = found.length === 0 ? [] : await servedHandlers(client, NODE_LIVE_MS);
  const nodes = await nodesOf(client, found);
  // Hold the lane briefly: tasks ahead of its next batch are not in a batch yet.
  const bases = found
    .map(baseOf)
    .map((lane) => (queues.get(lane.id)?.blocks === true ? { ...lane, holdInMs: BLOCKED_LOOK_MS } : lane));
  const windows = bases.map((lane) => windowOf(lane));
  const open =
    found.length === 0
      ? []
      : await store.readOpenBatches(
          client,
          found.map(({ id }) => id),
          windows.map((n) => n + 1),
        );
  const ofLane = new Map<number, OpenBatch[]>();
  for (const batch of open) ofLane.set(batch.laneId, [...(ofLane.get(batch.laneId) ?? []), batch]);
  const lanes = bases.map((lane, i): Lane => {
    const batches = ofLane.get(lane.id) ?? [];
    return {
      ...lane,
      open: batches.slice(0, windows[i]).map((batch) => toQueued(batch, served, nodes.get(lane.id), queuer.nowMs)),
      openMore: batches.length > windows[i]!,
    };
  });
  const { depth, round, paused } = queuer;
  const handlers = await tokensOf(client, open);
  const plan = planGrants({ strategy, depth, round, paused, lanes, more, handlers, nowMs: queuer.nowMs }, slots);
  for (const update of plan.lanes) {
    const queue = queues.get(update.laneId);
    if (queue === undefined || (!update.ready && update.heldBy !== null)) continue;
    update.ready ||= queue.ready;
    if (queue.dueInMs !== null) update.dueInMs = Math.min(update.dueInMs ?? Infinity, queue.dueInMs);
  }
  return {
    plan,
    lanes: new Map(lanes.map((lane) => [lane.id, lane])),
    batches: new Map(open.map((batch) => [batch.id, batch])),
    nodes,
  };
};

/** Returns the nodes that serve the lanes that are in partitions. */
const nodesOf = async (client: Client, lanes: readonly LaneFacts[]): Promise<Map<number, string | null>> => {
  const placed = lanes.flatMap(({ id, partition }) => (partition === null ? [] : [{ id, partition }]));
  if (placed.length === 0) return new Map();
  const serving = await lockServing(client, [...new Set(placed.map(({ partition }) => partition))]);
  return new Map(placed.map(({ id, partition }) => [id, serving.get(partition)?.node ?? null]));
};

/** Returns the tokens of the handlers with limits that have a batch among these. */
const tokensOf = async (client: Client, open: readonly OpenBatch[]): Promise<HandlerTokens[]> => {
  const limited = open.filter((batch) => batch.limited);
  if (limited.length === 0) return [];
  const idsOf = (field: 'handlerId' | 'targetId'): number[] => [...new Set(limited.map((batch) => batch[field]))];
  return readTokens(client, idsOf('handlerId'), idsOf('targetId'));
};

const baseOf = (facts: LaneFacts): Omit<Lane, 'open' | 'openMore'> => ({
  ...facts,
  kind: nameOf(LANE_KINDS, facts.kind),
  approach: nameOf(APPROACHES, facts.approach),
  onInvalid: nameOf(ON_INVALID, facts.onInvalid),
  paused: false, // neither paused nor halted lanes are among the ready ones
  haltedBy: null,
  pendingLimit: pendingLimitOf(facts.pendingLimit),
});

/** `node`: null where its lane is in a partition that no node holds. */
const toQueued = (
  batch: OpenBatch,
  served: readonly string[],
  node: string | null | undefined,
  nowMs: number,
): QueuedBatch => ({
  ...timing(batch, served.includes(batch.handler) && node !== null, nowMs),
  id: batch.id,
  sequence: batch.seq,
  part: 0,
  status: statusName(batch.status),
  resolving: batch.resolving,
  reads: batch.reads,
  writes: batch.writes,
  weight: batch.weight,
  waitsFor: batch.waitsFor,
  failedOn: batch.failedOn,
  ...(batch.limited
    ? { tokens: { handlerId: batch.handlerId, targetId: batch.targetId, n: batch.n, weight: batch.load } }
    : {}),
});

const timing = (
  { paused, notBeforeInMs, handlerId }: OpenBatch,
  isServed: boolean,
  nowMs: number,
): Pick<QueuedBatch, 'notBeforeInMs' | 'unservedBy'> => {
  if (paused) return { notBeforeInMs: PAUSED_LOOK_MS };
  if (isServed) return { notBeforeInMs };
  return { notBeforeInMs: Math.max(nextUnservedLookInMs(nowMs), notBeforeInMs ?? 0), unservedBy: handlerId };
};

const nameOf = <T extends string>(names: Readonly<Record<T, number>>, code: number): T => {
  const found = (Object.entries(names) as [T, number][]).find(([, number]) => number === code);
  if (found === undefined) throw new Error(`expected one of ${Object.values(names).join(', ')}, got ${code}`);
  return found[0];
};

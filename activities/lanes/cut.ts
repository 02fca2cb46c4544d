import type { LaneFacts } from '../../postgres/lanes/grant';
import type { LaneHead } from '../../postgres/lanes/queue';
import { formLaneBatch, readLaneHeads, readLaneQueue } from '../../postgres/lanes/queue';
import type { Client } from '../../postgres/pool';
import type { CutBatch } from '../../workflows/planning/calls/plans';
import { cutFirst, isStrict } from '../../workflows/planning/grouping/orderedQueue';
import { FLUSH_REASONS } from '../../workflows/planning/states';

/** What is left in a lane's queue after its batches were cut. */
export interface LeftInQueue {
  /** Ms until a batch is due by time alone; null: when the lane moves on. */
  dueInMs: number | null;
  /** True if a batch can be cut as soon as the lane is looked at again. */
  ready: boolean;
  /**
   * Tasks that go before the lane's next batch are still in no batch: nothing of the lane may be
   * granted now.
   */
  blocks: boolean;
}

/** Most tasks that are put into batches at once because something was submitted behind them. */
const MOST = 20_000;

/**
 * Cuts the batches of lanes, under the lanes' lock. An ordered handler's leader is its lane: its
 * batches are contiguous prefixes of the lane's queue, of one target, cut when the lane could send
 * them, so that they are as full as they can be and never out of order.
 */
export const cutLanes = async (client: Client, lanes: readonly LaneFacts[]): Promise<Map<number, LeftInQueue>> => {
  const left = new Map<number, LeftInQueue>();
  if (lanes.length === 0) return left;
  const byId = new Map(lanes.map((lane) => [lane.id, lane]));
  for (const head of await readLaneHeads(
    client,
    lanes.map(({ id }) => id),
  ))
    left.set(head.laneId, await cutLane(client, byId.get(head.laneId)!, head));
  return left;
};

const cutLane = async (client: Client, lane: LaneFacts, head: LaneHead): Promise<LeftInQueue> => {
  const waits: LeftInQueue = { dueInMs: null, ready: false, blocks: head.boundary !== null };
  if (head.paused) return waits;
  if (head.boundary !== null) return cutBefore(client, head, head.boundary);
  const strict = isStrict(lane);
  // Wait until the lane could send it: until then the batch may still grow.
  if (strict ? head.open > 0 : head.unsent > 0) return { ...waits, blocks: false };
  const tasks = await readLaneQueue(client, lane.id, null, head.limits.maxItems + 1);
  const { batch, dueAtMs, all } = cutFirst(head, tasks, tasks.length > head.limits.maxItems);
  if (batch === null)
    return { dueInMs: Math.max(1, (dueAtMs ?? head.nowMs) - head.nowMs), ready: false, blocks: false };
  await form(client, head, tasks[0]!.targetId, batch);
  return { dueInMs: null, ready: !strict && !all, blocks: false };
};

/**
 * Cuts all tasks before a batch that was submitted behind them: they go before it and can take in
 * no more.
 */
const cutBefore = async (client: Client, head: LaneHead, boundary: number): Promise<LeftInQueue> => {
  let tasks = await readLaneQueue(client, head.laneId, boundary, MOST + 1);
  const more = tasks.length > MOST;
  if (more) tasks = tasks.slice(0, MOST);
  let { targetId } = head;
  let at: LaneHead = head;
  while (tasks.length > 0) {
    if (tasks[0]!.targetId !== targetId) {
      const [next] = await readLaneHeads(client, [head.laneId]);
      at = next!;
      ({ targetId } = at);
    }
    const { batch } = cutFirst({ ...at, limits: { ...at.limits, lingerMs: 0 } }, tasks, false);
    await form(client, at, targetId, batch!);
    tasks = tasks.slice(batch!.seqs.length);
  }
  return { dueInMs: null, ready: more, blocks: more };
};

const form = (client: Client, head: LaneHead, targetId: number, batch: CutBatch): Promise<void> =>
  formLaneBatch(client, {
    laneId: head.laneId,
    targetId,
    handlerId: head.handlerId,
    reason: FLUSH_REASONS[batch.reason],
    seqs: batch.seqs,
    bytes: batch.bytes,
    weight: batch.weight,
  });

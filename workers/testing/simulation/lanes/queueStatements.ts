import { batchLimitsOf } from '../../../../handlers/settings';
import { STATUSES } from '../../../../workflows/planning/lanes/statuses';
import { flushReasonName } from '../../../../workflows/planning/states';
import type { Statement } from '../statement';
import { NO_ROWS } from '../statement';
import { isUnsent } from './laneTables';
import { standAt } from './submitStatements';
import type { LaneRow, TaskRow } from '../rows';

/** What the statements about tasks that wait in lanes for their batch do to a simulated store. */

const least = (...all: (number | undefined)[]): number | null => {
  const given = all.filter((one) => one !== undefined);
  return given.length === 0 ? null : Math.min(...given);
};

const readLaneHeads: Statement = (tables, [ids], handler) =>
  tables.lanes.those(ids).flatMap(({ id: laneId, queue, open }) => {
    const [first] = queue;
    if (first === undefined) return [];
    const { target } = first;
    const { maxItems, minItems, maxBytes, maxWeight, overheadBytes, lingerMs, quietPeriodMs } = {
      ...batchLimitsOf(handler),
      ...target.overrides,
    };
    const { perTarget, perHandler } = handler.limits.maxWeightInFlight;
    const behind = open.find(({ inLane }) => inLane!.seq > first.seq);
    return [
      {
        ...{ laneId, targetId: target.id, handlerId: 1, flushSeq: target.flushSeq, nowMs: tables.nowMs },
        paused: tables.handler.pausedFor !== null || target.pausedFor !== null,
        limits: {
          ...{ maxItems, minItems, maxBytes: maxBytes ?? null, maxWeight: maxWeight ?? null, overheadBytes },
          ...{ lingerMs, quietMs: quietPeriodMs ?? null, weightBudget: least(perTarget, perHandler) },
        },
        unsent: open.filter(({ inLane }) => isUnsent(inLane!.status)).length,
        open: open.length,
        boundary: behind?.inLane!.seq ?? null,
      },
    ];
  });

const readLaneQueue: Statement = ({ lanes }, [laneId, before, limit]) => {
  const { queue } = lanes.lane(laneId as number);
  const some = before === null ? queue : queue.filter(({ seq }) => seq < (before as number));
  return some.slice(0, limit as number).map(({ seq, target, bytes, weight, key, readyAtMs }) => {
    return { seq, targetId: target.id, bytes, weight, key, readyAtMs };
  });
};

/** What a batch of these tasks reads or writes; empty, if one of them declares nothing. */
const unionOf = (tasks: readonly TaskRow[], of: 'reads' | 'writes'): string[] => {
  const isUndeclared = tasks.some(({ sets }) => sets!.reads.length + sets!.writes.length === 0);
  return isUndeclared ? [] : [...new Set(tasks.flatMap(({ sets }) => sets![of]))].sort();
};

const formLaneBatch: Statement = (tables, [laneId, targetId, , reason, seqs, , weight, seq]) => {
  const members = (seqs as number[]).map((one) => tables.bySeq.get(one)!);
  const lane = tables.lanes.lane(laneId as number);
  const taken = new Set(members);
  lane.queue = lane.queue.filter((task) => !taken.has(task));
  const batch = tables.addBatch(tables.targetOf(targetId as number), members, {
    reason: flushReasonName(reason as number),
    weight: weight as number,
  });
  const sets = { reads: unionOf(members, 'reads'), writes: unionOf(members, 'writes') };
  standAt(tables, batch, { laneId: lane.id, seq: seq as number, ...sets });
  return [{ n: members.length }];
};

/** Makes what waits in these lanes due, of one target or of all. */
export const flushLanes = (lanes: Iterable<LaneRow>, target: string | undefined): void => {
  for (const lane of lanes)
    for (const task of lane.queue) {
      if (target !== undefined && task.target.key !== target) continue;
      task.target.flushSeq = Math.max(task.target.flushSeq ?? 0, task.seq);
      lane.ready = true;
    }
};

export const QUEUES: Readonly<Record<string, Statement>> = {
  'read-lane-heads': readLaneHeads,
  'read-lane-queue': readLaneQueue,
  'form-lane-batch': formLaneBatch,
  'return-granted': (tables, [id, , unused]) => {
    const batch = tables.batch(id as number);
    if (batch.inLane!.status !== STATUSES.submitted) return NO_ROWS;
    if (batch.attempt === unused) batch.marked = false;
    batch.carried = false;
    const isUnknown = batch.marked || batch.unsure;
    tables.lanes.move(batch, isUnknown ? STATUSES.unknown : STATUSES.unsubmitted, tables.nowMs);
    batch.inLane!.notBeforeMs = null;
    batch.inLane!.lane.ready = true;
    return [{ laneId: batch.inLane!.lane.id }];
  },
};

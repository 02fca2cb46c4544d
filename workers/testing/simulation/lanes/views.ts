import type { Handler } from '../../../../handlers/types';
import type { OpenBatch } from '../../../../postgres/lanes/grant';
import { pendingLimitOf } from '../../../../workflows/planning/lanes/backPressure';
import type { LaneState } from '../../../../workflows/planning/lanes/laneState';
import { laneStateOf } from '../../../../workflows/planning/lanes/laneState';
import type { LaneBatchStatus } from '../../../../workflows/planning/lanes/statuses';
import { statusName } from '../../../../workflows/planning/lanes/statuses';
import type { Tables } from '../tables';
import { GRANTS } from './grantStatements';
import type { LaneRow } from '../rows';

/** A lane as it is now, in the words of `lanes.get`. */
export interface SimulatedLane {
  service: string;
  state: LaneState;
  /** Why it is paused or halted; null: it is neither. */
  reason: string | null;
  /** The batch that halts it; null: none does. */
  haltedBy: number | null;
  /** Batches that have not ended, in order. */
  batches: { batch: number; status: LaneBatchStatus; tasks: string[] }[];
  /** Ids of tasks in no batch yet, in order. */
  queued: string[];
  /** How many batches it has been granted. */
  granted: number;
}

export const laneView = (tables: Tables, handler: Handler, lane: LaneRow): SimulatedLane => {
  const { service, haltedBy, haltReason, pausedFor, open, queue, granted } = lane;
  return {
    service,
    state: stateOf(tables, handler, lane),
    reason: haltReason ?? pausedFor,
    haltedBy,
    batches: open.map(({ id, inLane, members }) => ({
      ...{ batch: id, status: statusName(inLane!.status), tasks: members.map((task) => task.id) },
    })),
    queued: queue.map(({ id }) => id),
    granted,
  };
};

const stateOf = (tables: Tables, handler: Handler, lane: LaneRow): LaneState => {
  const { id, service, pausedFor, haltedBy, holdMs, blockedBy, pending, pendingLimit, saturated } = lane;
  const { weight, deficit, served } = lane;
  const { kind, approach, onInvalid } = handler.lane;
  const read = GRANTS['read-open-batches']!(tables, [[id], [lane.open.length]], handler) as OpenBatch[];
  const open = read.map((one) => ({ ...one, sequence: one.seq, part: 0, status: statusName(one.status) }));
  return laneStateOf({
    ...{ id, service, kind, approach, onInvalid, weight, deficit, served, pending, saturated, haltedBy, open },
    ...{ pendingLimit: pendingLimitOf(pendingLimit), held: blockedBy !== null, openMore: false },
    ...{ paused: pausedFor !== null, holdInMs: holdMs === null ? null : holdMs - tables.nowMs },
  });
};

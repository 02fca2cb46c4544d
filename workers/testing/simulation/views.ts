import { partitionName } from '../../../postgres/nodes/partition';
import type { Serving } from './nodes/nodeTables';
import type { BatchTask } from '../../../handlers/contract';
import type { CallOutcome } from '../../../workflows/planning/calls/plans';
import type { LaneBatchStatus } from '../../../workflows/planning/lanes/statuses';
import { statusName } from '../../../workflows/planning/lanes/statuses';
import type { BatchState, FlushReason, TaskState } from '../../../workflows/planning/states';
import type { BatchRow, TaskRow } from './rows';

/** What a test sees of a simulated world. Times are milliseconds since the world began. */

/** One call of `submit`. */
export interface SimulatedCall<P = unknown> {
  atMs: number;
  target: string;
  /** The service of its lane; null: it is in none. */
  service: string | null;
  /** The node that made it, where the handler has affinity; null: any may. */
  node: string | null;
  /** The partition under which it was made, as `batch.partition`; null: none. */
  partition: { id: string; epoch: number } | null;
  /** Number of the batch; a batch that is sent again keeps it. */
  batch: number;
  /** 1 for the batch's first call. */
  attempt: number;
  /** Why the batch was formed. */
  reason: FlushReason;
  tasks: readonly BatchTask<P>[];
  /** How the answer was read. */
  outcome: CallOutcome['kind'] | 'look-again';
}

/** A batch that was formed. */
export interface SimulatedBatch {
  id: number;
  /** When it was formed. */
  atMs: number;
  target: string;
  reason: FlushReason;
  state: BatchState;
  /** Its lane, and its status there; null: it is in no lane, or its parts have taken its place. */
  lane: { service: string; status: LaneBatchStatus } | null;
  /** Ids of its tasks, in order; also of those that have left it. */
  tasks: string[];
}

/** A task as it is now. */
export interface SimulatedTask {
  id: string;
  target: string;
  state: TaskState;
  /** Counted attempts. */
  attempts: number;
  error: string | null;
  /** What the downstream returned for it. */
  result?: unknown;
  /** When it ended; null: it has not. */
  endedAtMs: number | null;
}

export const partitionView = (serving: Serving | null): SimulatedCall['partition'] =>
  serving === null ? null : { id: partitionName(serving.id), epoch: serving.epoch };

export const batchView = (batch: BatchRow, startMs: number): SimulatedBatch => {
  const { id, reason, state, createdAtMs, target, members, inLane } = batch;
  const lane = inLane === null ? null : { service: inLane.lane.service, status: statusName(inLane.status) };
  const tasks = members.map((task) => task.id);
  return { id, atMs: createdAtMs - startMs, target: target.key, reason, state, lane, tasks };
};

export const taskView = (task: TaskRow, startMs: number): SimulatedTask => {
  const { id, end, batch, attempts } = task;
  const result = batch?.results.values.get(batch.members.indexOf(task));
  const inBatch = task.place === 'batch' ? batch : null;
  return {
    id,
    target: task.target.key,
    state: end?.state ?? stateIn(inBatch),
    attempts: end?.attempts ?? attempts + (inBatch?.counted ?? 0),
    error: end === null ? (inBatch?.error ?? null) : end.error,
    ...(result === undefined ? {} : { result }),
    endedAtMs: end === null ? null : end.atMs - startMs,
  };
};

const stateIn = (batch: BatchRow | null): TaskState => {
  if (batch === null) return 'created';
  if (batch.state === 'unknown') return 'unknown';
  if (batch.inLane !== null) return STATES_IN_LANE[statusName(batch.inLane.status)] ?? 'in-progress';
  return batch.attempt > 0 ? 'in-progress' : 'batched';
};

/** As `lane_task_state` of the store has them; in any other status a task is in progress. */
const STATES_IN_LANE: Partial<Record<LaneBatchStatus, TaskState>> = {
  unsubmitted: 'batched',
  delayed: 'created',
  unknown: 'unknown',
  parked: 'unknown',
};

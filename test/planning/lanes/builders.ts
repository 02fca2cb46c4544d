import { ROUND } from '../../../workflows/planning/lanes/strategies';
import type { GrantPlan, Lane, QueuedBatch, QueuerState } from '../../../workflows/planning/lanes/types';

/** Valid values with defaults, so that a test shows only what it is about. */
export const buildBatch = (batch: Partial<QueuedBatch> & { id: number }): QueuedBatch => ({
  sequence: batch.id,
  part: 0,
  status: 'unsubmitted',
  reads: [],
  writes: [],
  weight: 1,
  notBeforeInMs: null,
  waitsFor: [],
  failedOn: null,
  ...batch,
});

export const buildLane = (lane: Partial<Lane> & { id: number }): Lane => ({
  service: `service-${lane.id}`,
  kind: 'non-guaranteed',
  approach: 'serial',
  onInvalid: 'continue',
  weight: 1,
  deficit: 0,
  served: 0,
  paused: false,
  haltedBy: null,
  holdInMs: null,
  pending: 0,
  pendingLimit: null,
  saturated: false,
  open: [],
  openMore: false,
  ...lane,
});

export const buildState = (state: Partial<QueuerState> = {}): QueuerState => ({
  strategy: 'one-round',
  depth: 1,
  round: 0,
  paused: false,
  lanes: [],
  more: false,
  ...state,
});

export const idsOf = (plan: GrantPlan): number[] => plan.grants.map(({ batchId }) => batchId);

/** The batches `from` to `to` by number, waiting. */
export const waiting = (from: number, to: number, batch: Partial<QueuedBatch> = {}): QueuedBatch[] =>
  Array.from({ length: to - from + 1 }, (_, at) => buildBatch({ ...batch, id: from + at }));

/** What the store gives a new lane, in SQL (`registerLanes`). */
export const newLaneServed = (round: number): number => round + ROUND;

import { verdictOn } from './eligibility';
import { isInFlight } from './statuses';
import type { Lane } from './types';

/** The state of a lane, as `muster lanes` and `muster lane <service>` show it. */
export const LANE_STATES = [
  'empty',
  'free',
  'in flight',
  'waiting for commit',
  'waiting for dependency',
  'delayed',
  'unknown',
  'back pressure',
  'paused',
  'halted',
] as const;
export type LaneState = (typeof LANE_STATES)[number];

/**
 * Returns the state of a lane. What stops the lane comes first: a pause, a halt, back pressure (of
 * the downstream, or by a limit of its handler). Otherwise the state is `free` if some batch may go
 * now (one of unknown outcome does not count), or else that of its head. `in flight`: a submitter
 * has the head. `waiting for commit`: the downstream has it.
 */
export const laneStateOf = (lane: Lane): LaneState => {
  if (lane.paused) return 'paused';
  if (lane.haltedBy !== null) return 'halted';
  if (lane.held === true || lane.saturated || (lane.holdInMs ?? 0) > 0) return 'back pressure';
  const waiting = lane.open.filter(({ status }) => !isInFlight(status));
  const mayGo = waiting.some(({ id }) => verdictOn(lane, id)?.kind === 'may-go');
  if (mayGo && waiting[0]?.status !== 'unknown') return 'free';
  const head = lane.open[0];
  if (head === undefined) return 'empty';
  switch (head.status) {
    case 'submitted':
      return 'in flight';
    case 'pending':
    case 'valid':
      return 'waiting for commit';
    case 'unknown':
      return 'unknown';
    case 'parked':
      return 'halted';
    default:
      return head.waitsFor.length > 0 ? 'waiting for dependency' : 'delayed';
  }
};

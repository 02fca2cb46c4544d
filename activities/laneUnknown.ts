import { readLookUps } from '../postgres/laneSettle';
import type { Pool } from '../postgres/pool';
import { decideSettlement } from '../workflows/planning/settlement';
import { decideUnknown } from '../workflows/planning/queuer/unknown';
import type { Call } from './settlement';
import { contextOf } from './settlement';

export type LaneUnknown = { kind: 'settle' } | { kind: 'look-again'; inMs: number };

/**
 * C28 for a batch of a lane whose outcome is unknown, after its look-up: sent again where that is safe, looked up some more times while the
 * downstream is unsure (`lane.lookUps`), then parked with its reason, which halts the lane. Never sent blindly.
 */
export const resolveInLane = async (pool: Pool, call: Call, error: string): Promise<LaneUnknown> => {
  if (call.park !== undefined) return { kind: 'settle' };
  const { lane, reconcile } = call.handler;
  const canReconcile = reconcile !== undefined;
  const decision = decideUnknown({
    // What its handler's policy makes of it; the key's window and the attempts left are in it.
    idempotent: decideSettlement({ kind: 'unknown', error }, contextOf(call, null)).kind !== 'park',
    canReconcile,
    found: call.absent ? 'absent' : canReconcile ? 'unsure' : null,
    lookUps: canReconcile ? (await readLookUps(pool, call.batch.id)) + 1 : 0,
    lookUpsMax: lane.lookUps,
    lookUpAgainMs: lane.lookUpEveryMs,
  });
  if (decision.kind === 'wait') return { kind: 'look-again', inMs: decision.inMs };
  if (decision.kind === 'park') call.park = `${decision.reason} (${error})`;
  return { kind: 'settle' };
};

import { readLookUps } from '../../postgres/lanes/settle';
import type { Pool } from '../../postgres/pool';
import { decideSettlement } from '../../workflows/planning/calls/settlement';
import { decideUnknown } from '../../workflows/planning/lanes/unknown';
import type { Call } from '../calls/call';
import { contextOf } from '../calls/settle';

export type LaneUnknown = { kind: 'settle' } | { kind: 'look-again'; inMs: number; error: string };

/**
 * C28 for a batch of a lane whose outcome is unknown, after its look-up: sent again where that is
 * safe, looked up some more times while the downstream is unsure (`lane.lookUps`), then parked with
 * its reason, which halts the lane. Never sent blindly.
 */
export const resolveInLane = async (pool: Pool, call: Call, error: string): Promise<LaneUnknown> => {
  if (call.park !== undefined) return { kind: 'settle' };
  const { lane, reconcile } = call.handler;
  const canReconcile = reconcile !== undefined;
  const before = canReconcile ? await readLookUps(pool, call.batch.id) : { lookUps: 0, error: null };
  // What made it unknown says more than that it still is.
  const reason = before.lookUps > 0 ? (before.error ?? error) : error;
  const decision = decideUnknown({
    // What its handler's policy makes of it; the key's window and the attempts left are in it.
    idempotent: decideSettlement({ kind: 'unknown', error }, contextOf(call, null)).kind !== 'park',
    canReconcile,
    found: call.absent ? 'absent' : canReconcile ? 'unsure' : null,
    lookUps: before.lookUps + 1,
    lookUpsMax: lane.lookUps,
    lookUpAgainMs: lane.lookUpEveryMs,
  });
  if (decision.kind === 'wait') return { kind: 'look-again', inMs: decision.inMs, error: reason };
  if (decision.kind === 'park') call.park = `${decision.reason} (${reason})`;
  return { kind: 'settle' };
};

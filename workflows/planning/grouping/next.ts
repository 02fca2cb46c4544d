import type { ClaimPlan } from './claim';
import { IDLE_LOOK_MS, LONGEST_WAIT_MS } from '../looks';

const BLOCKED_LOOK_MS = 10_000;
/**
 * Waits between the looks of a leader whose partition no node holds. The looks are only a safety
 * net: the balancer wakes the leader when it assigns the partition, or else the sweeper does. Each
 * look in vain doubles the wait.
 */
const UNSERVED_LOOK_MS = { first: 2_000, most: 60_000 };
export const UNSERVED = 'no node holds its partition';
export const OWN_CALLS = 'calls in flight';
export const SHARED_RATE = 'shared rate';

/** What a leader does next, after a turn. */
export interface Next {
  state: 'idle' | 'working' | 'waiting';
  inMs: number;
  timer: boolean;
  blocked: boolean;
  wantsSlots: boolean;
  again: boolean;
  heldBy: string | null;
}

/** Waits for nothing, and wants nothing. */
const AT_ONCE = { inMs: 0, timer: false, blocked: false, again: false, wantsSlots: false };

/** The answer of the last turn: how long the leader has waited since, and for what. */
export interface LastAnswer {
  heldBy: string | null;
  dueInMs: number | null;
}

/**
 * Decides what a leader does next, from what is due, what is in flight, and what kept it from
 * taking due work. Pure.
 *
 * Short waits are timers too, although a server with default settings fires no timer before about a
 * second (a worker warns of that when it starts). A wait in the turn's local activity would be
 * exact, but it would hold the workflow task: meanwhile no signal would reach the run (a flush, a
 * batch that filled up, a pause), and since a process works on 16 workflow tasks at once, a
 * seventeenth leader would have to wait for the lingers of the others.
 */
export const decideNext = (
  leader: { paused: boolean; handlerHoldMs: number | null; nowMs: number },
  claimed: {
    plan: Pick<ClaimPlan, 'cut' | 'take' | 'pacedUntilMs' | 'weightBlocked' | 'shared'> | null;
    slotsLeft: boolean;
    unserved?: boolean;
  },
  dueAtMs: number | null,
  live: number,
  mayClaim: boolean,
  last: LastAnswer | null = null,
): Next => {
  const working = (heldBy: string | null): Next => ({ ...AT_ONCE, state: 'working', heldBy });
  // A leader with calls in flight needs no timer, which would cost an action: the end of a dispatch
  // brings it back.
  const quiet = (heldBy: string | null): Next =>
    live > 0 ? { ...AT_ONCE, state: 'waiting', inMs: IDLE_LOOK_MS, heldBy } : { ...AT_ONCE, state: 'idle', heldBy };
  const waiting = (inMs: number, blocked: boolean, heldBy: string | null): Next => ({
    ...AT_ONCE,
    state: 'waiting',
    // The wait is exact: if the leader published a wake time even half a millisecond after the due
    // time of its target, it would find the target due earlier, and look again.
    inMs: Math.max(0, inMs),
    timer: true,
    blocked,
    heldBy,
  });
  if (leader.paused) return quiet('paused');
  if (dueAtMs === null) return quiet(null);
  if (leader.handlerHoldMs !== null)
    return waiting(Math.max(leader.handlerHoldMs, dueAtMs) - leader.nowMs, false, 'hold');
  if (dueAtMs > leader.nowMs) return waiting(Math.min(LONGEST_WAIT_MS, dueAtMs - leader.nowMs), false, null);
  // From here on, something is due now and was not taken.
  if (!mayClaim) return working('continue-as-new');
  if (claimed.unserved === true) return waiting(unservedLookMs(last), true, UNSERVED);
  if (claimed.plan?.pacedUntilMs != null) {
    const heldBy = claimed.plan.shared?.wants === true ? SHARED_RATE : 'rate';
    return waiting(claimed.plan.pacedUntilMs - leader.nowMs, true, heldBy);
  }
  if (claimed.plan?.weightBlocked) return waiting(BLOCKED_LOOK_MS, true, 'weight in flight');
  if (claimed.slotsLeft) {
    const tookOrNotLooked = claimed.plan === null || claimed.plan.cut.length + claimed.plan.take.length > 0;
    // The leader looked and found nothing to cut: the ring saw something due that the plan does not
    // see. Never spin on that.
    return tookOrNotLooked ? { ...working(null), again: true } : waiting(1_000, false, null);
  }
  // No slot is left. The end of one of the leader's own dispatches brings it back, or else the end
  // of another leader's dispatch does (`wakeBlockedLeaders`).
  if (live > 0) return working(OWN_CALLS);
  return { ...waiting(BLOCKED_LOOK_MS, true, 'calls in flight of other leaders'), wantsSlots: true };
};

const unservedLookMs = (last: LastAnswer | null): number =>
  last?.heldBy === UNSERVED ? Math.min(UNSERVED_LOOK_MS.most, 2 * (last.dueInMs ?? 0)) : UNSERVED_LOOK_MS.first;

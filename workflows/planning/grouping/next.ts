import type { ClaimPlan } from './claim';
import { IDLE_LOOK_MS, LONGEST_WAIT_MS } from '../looks';

const BLOCKED_LOOK_MS = 10_000;
/**
 * Looks of a leader without a node: only a safety net, since the balancer wakes it when it assigns
 * the partition, or the sweeper does. Each look in vain doubles the wait.
 */
const UNSERVED_LOOK_MS = { first: 2_000, most: 60_000 };
export const UNSERVED = 'no node holds its partition';
export const OWN_CALLS = 'calls in flight';

/** What a leader does after a turn. */
export interface Next {
  state: 'idle' | 'working' | 'waiting';
  inMs: number;
  timer: boolean;
  blocked: boolean;
  wantsSlots: boolean;
  again: boolean;
  heldBy: string | null;
}

/** Waits for nothing, and asks for nothing. */
const AT_ONCE = { inMs: 0, timer: false, blocked: false, again: false, wantsSlots: false };

/** The last turn's answer: which wait the leader has waited. */
export interface LastAnswer {
  heldBy: string | null;
  dueInMs: number | null;
}

/**
 * Decides what a leader does next: from what is due, what is in flight, and why due work was not
 * taken. Pure.
 *
 * Short waits are timers too, although a server with its defaults fires none before about a second
 * (a worker warns of that at its start). Spent in the turn's local activity they would be exact,
 * but hold the workflow task: no signal reaches a run meanwhile (a flush, a batch that filled up, a
 * pause), and a process works on 16 tasks at once, so that a seventeenth leader would wait for the
 * lingers of the others.
 */
export const decideNext = (
  leader: { paused: boolean; handlerHoldMs: number | null; nowMs: number },
  claimed: {
    plan: Pick<ClaimPlan, 'cut' | 'take' | 'pacedUntilMs' | 'weightBlocked'> | null;
    slotsLeft: boolean;
    unserved?: boolean;
  },
  dueAtMs: number | null,
  live: number,
  mayClaim: boolean,
  last: LastAnswer | null = null,
): Next => {
  const working = (heldBy: string | null): Next => ({ ...AT_ONCE, state: 'working', heldBy });
  // The end of a dispatch brings a leader with calls in flight back: no timer to pay for.
  const quiet = (heldBy: string | null): Next =>
    live > 0 ? { ...AT_ONCE, state: 'waiting', inMs: IDLE_LOOK_MS, heldBy } : { ...AT_ONCE, state: 'idle', heldBy };
  const waiting = (inMs: number, blocked: boolean, heldBy: string | null): Next => ({
    ...AT_ONCE,
    state: 'waiting',
    // Exact: a leader that published even half a millisecond more than its target's due time would
    // find it due earlier, and look again.
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
  // Something is due now and was not taken.
  if (!mayClaim) return working('continue-as-new');
  if (claimed.unserved === true) return waiting(unservedLookMs(last), true, UNSERVED);
  if (claimed.plan?.pacedUntilMs != null) return waiting(claimed.plan.pacedUntilMs - leader.nowMs, true, 'rate');
  if (claimed.plan?.weightBlocked) return waiting(BLOCKED_LOOK_MS, true, 'weight in flight');
  if (claimed.slotsLeft) {
    const tookOrNotLooked = claimed.plan === null || claimed.plan.cut.length + claimed.plan.take.length > 0;
    // Looked and found nothing to cut: the ring saw something due that the plan does not. Never
    // spin on it.
    return tookOrNotLooked ? { ...working(null), again: true } : waiting(1_000, false, null);
  }
  // No slot: the end of one of its dispatches brings the workflow back; otherwise that of another
  // leader's does (wakeBlockedLeaders).
  if (live > 0) return working(OWN_CALLS);
  return { ...waiting(BLOCKED_LOOK_MS, true, 'calls in flight of other leaders'), wantsSlots: true };
};

const unservedLookMs = (last: LastAnswer | null): number =>
  last?.heldBy === UNSERVED ? Math.min(UNSERVED_LOOK_MS.most, 2 * (last.dueInMs ?? 0)) : UNSERVED_LOOK_MS.first;

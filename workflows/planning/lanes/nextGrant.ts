import { IDLE_LOOK_MS, LONGEST_WAIT_MS } from '../looks';

export interface NextGrant {
  state: 'idle' | 'working' | 'waiting';
  inMs: number;
  /** Wait by a timer. Without one, the end of a submitter or a wake brings the queuer back. */
  timer: boolean;
  again: boolean;
  heldBy: string | null;
}

/**
 * Decides what a queuer does after a turn, from what is left to grant and what is in flight. Pure.
 */
export const decideNextGrant = (turn: {
  paused: boolean;
  /** False: the run is draining before it continues as new. */
  mayClaim: boolean;
  /** How many slots are left after the grants of this turn. */
  free: number;
  /** Slots are left, and not all lanes were looked at. */
  again: boolean;
  /** Milliseconds until the next lane becomes ready by time alone; null: none does. */
  dueInMs: number | null;
  /** How many submitters are at work. */
  live: number;
}): NextGrant => {
  const none = { inMs: 0, timer: false, again: false };
  const quiet = (heldBy: string | null): NextGrant =>
    turn.live > 0 ? { ...none, state: 'waiting', inMs: IDLE_LOOK_MS, heldBy } : { ...none, state: 'idle', heldBy };
  if (turn.paused) return quiet('paused');
  // A draining run must not become idle: the next run takes over at once.
  if (!turn.mayClaim) return { ...none, state: 'working', heldBy: 'continue-as-new' };
  if (turn.again) return { ...none, state: 'working', again: true, heldBy: null };
  if (turn.free <= 0) return quiet('all submitters are at work');
  if (turn.dueInMs === null) return quiet(null);
  // The wait is exact, as a leader's: a queuer that published a wake time after the due time of its
  // lane would be woken for that lane again and again.
  const inMs = Math.max(0, Math.min(LONGEST_WAIT_MS, turn.dueInMs));
  return { state: 'waiting', inMs, timer: true, again: false, heldBy: null };
};

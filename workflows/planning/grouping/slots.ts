/**
 * Input of `grantSlots`: which leaders hold slots of one handler (or of one target), and which one
 * asks for some.
 */
export interface SlotRequest {
  limit: number;
  /** Live dispatches of all leaders of the handler; a leader may have several. */
  granted: readonly { leader: string | number; slots: number }[];
  /** The leader that asks. */
  leader: string | number;
  /** Leaders of the handler that have work or are blocked, this one included. */
  activeLeaders: number;
  /** Another leader has due work and got no slot. */
  othersBlocked: boolean;
  wanted: number;
}

/**
 * Returns how many slots of a handler's concurrency limit `leader` gets now: whole, at least 0,
 * never so many that the sum exceeds `limit`.
 *
 * - No other leader is active: all that is free.
 * - Otherwise at most the fair share `ceil(limit / activeLeaders)` in all; what is above it already
 *   is not taken back.
 * - While others are blocked, a leader that holds slots leaves one for each active leader that
 *   holds none: rounded-up shares add up to more than the limit, and a leader that asks again first
 *   would starve the last one.
 *
 * With fewer slots than leaders the shares cannot help: then the leader that is woken first when a
 * slot falls free has it, and the caller should wake the one that is blocked the longest.
 */
export function grantSlots(request: SlotRequest): number {
  const { limit, leader, othersBlocked, wanted } = request;
  const holders = new Set<string | number>();
  let used = 0;
  let mine = 0;
  for (const dispatch of request.granted) {
    if (dispatch.slots <= 0) continue;
    used += dispatch.slots;
    if (dispatch.leader === leader) mine += dispatch.slots;
    else holders.add(dispatch.leader);
  }
  const free = limit - used;
  if (free <= 0) return 0;
  // A blocked other leader is an active one, whatever was counted.
  const active = Math.max(request.activeLeaders, othersBlocked ? 2 : 1);
  if (active === 1) return atLeastNone(Math.min(wanted, free));

  const share = Math.ceil(limit / active);
  const emptyHanded = othersBlocked ? Math.max(0, active - 1 - holders.size) : 0;
  const leave = mine > 0 ? emptyHanded : Math.min(emptyHanded, free - 1);
  return atLeastNone(Math.min(wanted, share - mine, free - leave));
}

/**
 * Returns what each dispatch keeps of its slots when together they hold more than back pressure has
 * left: in proportion, whole, in sum exactly `limit`, and never more than it had. In the order of
 * `held`, so that all of them compute the same.
 */
export function shareSlots(limit: number, held: readonly number[]): number[] {
  const sum = held.reduce((all, slots) => all + slots, 0);
  if (sum <= limit) return [...held];
  let before = 0;
  return held.map((slots) => {
    const from = Math.floor((before * limit) / sum);
    before += slots;
    return Math.floor((before * limit) / sum) - from;
  });
}

const atLeastNone = (slots: number): number => Math.max(0, Math.floor(slots));

/**
 * Input of `grantSlots`: which leaders hold slots of a handler, and which leader asks for slots.
 */
export interface SlotRequest {
  limit: number;
  /** The live dispatches of all leaders of the handler; a leader may have several. */
  granted: readonly { leader: string | number; slots: number }[];
  /** The leader that asks. */
  leader: string | number;
  /** How many leaders of the handler have work or are blocked, including this one. */
  activeLeaders: number;
  /** Another leader has due work and got no slot. */
  othersBlocked: boolean;
  wanted: number;
}

/**
 * Returns how many slots of a handler's concurrency limit `leader` gets now: a whole number of at
 * least 0, never so many that all slots together exceed `limit`.
 *
 * - If no other leader is active, it gets all free slots.
 * - Otherwise it gets at most as many as raise it to the fair share, `ceil(limit / activeLeaders)`.
 *   Slots that it holds beyond that are not taken back.
 * - While other leaders are blocked, a leader that holds slots leaves one free for each active
 *   leader that holds none. Fair shares are rounded up and may add up to more than the limit, so
 *   leaders that ask again first would starve the last one.
 *
 * With fewer slots than leaders, shares cannot help: a free slot goes to the leader that is woken
 * first, so the caller should wake the one that has been blocked the longest.
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
  // A blocked leader is active, whatever was counted.
  const active = Math.max(request.activeLeaders, othersBlocked ? 2 : 1);
  const share = Math.ceil(limit / active);
  const emptyHanded = othersBlocked ? Math.max(0, active - 1 - holders.size) : 0;
  const leave = mine > 0 ? emptyHanded : Math.min(emptyHanded, free - 1);
  return atLeastNone(Math.min(wanted, share - mine, free - leave));
}

/**
 * Returns how many of its slots each dispatch keeps when all together hold more than the `limit`
 * that back pressure has left: whole numbers, in proportion, exactly `limit` in sum, and never more
 * than the dispatch had. The result is in the order of `held`, and the same in every dispatch.
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

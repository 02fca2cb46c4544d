import type { TurnInput } from '../../workflows/messages';
import { grantSlots, shareSlots } from '../../workflows/planning/grouping/slots';
import type { LastRun, LockedLeader } from '../../postgres/grouping/leader';
import { lockLeaderAndHandler } from '../../postgres/grouping/leader';
import { lockSharedSlots } from '../../postgres/limits/shared';
import { grantShared } from '../../workflows/planning/limits/sharing';
import type { Client } from '../../postgres/pool';
import {
  forgetDispatches,
  insertDispatch,
  lockHandlerLimit,
  readSlotTokens,
  reviveDispatch,
  setSlots,
} from '../../postgres/grouping/slots';

/** Most dispatches in flight per leader, so that slow calls in a few leave room for others. */
const MAX_DISPATCHES = 8;
/** dispatch.no = epoch * this + turn: never used twice by one leader. */
export const TURNS_PER_EPOCH = 1_000_000;

/** Where a run stands, by the guard of every leader-side write: run, epoch and turn. */
export type Leadership =
  | { kind: 'leads'; epoch: number; live: readonly number[] }
  /**
   * A later run holds the row: this one is a zombie. (The workflow id is the lock: runs start one
   * after another.)
   */
  | { kind: 'deposed' }
  | { kind: 'repeated' };

/** Returns where the run stands. `row`: a leader's or queuer's, locked. */
export const leadershipOf = (
  row: Pick<LastRun, 'holder' | 'runStartedAtMs' | 'epoch' | 'turn'>,
  input: Pick<TurnInput, 'runId' | 'runStartedAtMs' | 'turn' | 'live'>,
): Leadership => {
  const mine = row.holder === input.runId;
  if (!mine && row.runStartedAtMs !== null && row.runStartedAtMs > input.runStartedAtMs) return { kind: 'deposed' };
  if (mine && input.turn <= row.turn) return { kind: 'repeated' };
  return { kind: 'leads', epoch: mine ? row.epoch : row.epoch + 1, live: mine ? input.live : [] };
};

/**
 * Says whether the leader is of this store; false: the run was started for a leader of a store that
 * this one has replaced (made anew, restored), or of a store beside it.
 */
export const isOwn = (
  row: Pick<LockedLeader, 'handler' | 'name' | 'installation'>,
  { handler, name, installation }: Pick<TurnInput, 'handler' | 'name' | 'installation'>,
): boolean =>
  (handler ?? row.handler) === row.handler &&
  (name ?? row.name) === row.name &&
  (installation ?? row.installation) === row.installation;

export interface Reservation {
  /** Number of the dispatch to be started. */
  no: number;
  slots: number;
  /** Something is due, and no slot was free for it. */
  wanting: boolean;
  /**
   * The handler has limits over all its targets besides slots (rate, weight in flight): the claim
   * is to hold its lock.
   */
  wholeHandler: boolean;
}

/** Says whether the handler has limits over all its targets besides slots. */
export const hasLimitsOverTargets = ({
  weightPerHandler,
  rates,
  shares,
}: Pick<LockedLeader, 'weightPerHandler' | 'rates' | 'shares'>): boolean =>
  shares !== null || weightPerHandler !== null || rates.some((rate) => rate.scope === 'handler');

/**
 * Forgets the slots of dead dispatches, and takes some for this turn, if it may claim and there is
 * anything to claim; the claim gives back what it does not use. A process that dies in between
 * leaves a reservation that no workflow knows: the leader's next turn forgets it.
 */
export const reserveSlots = async (client: Client, input: TurnInput): Promise<Reservation | null> => {
  const leader = await lockLeaderAndHandler(client, input.leaderId);
  if (leader === null || !isOwn(leader, input)) return null;
  const leadership = leadershipOf(leader, input);
  if (leadership.kind !== 'leads') return null; // the claim finds the same, and answers
  await forgetDispatches(client, input.leaderId, leadership.live, leadership.epoch * TURNS_PER_EPOCH);
  if (!input.mayClaim || leader.paused || leader.handlerHoldMs !== null) return null;
  const tokens = await readSlotTokens(client, leader.handlerId, input.leaderId, leadership.live);
  if (!tokens.due) return null;
  const limit = Math.min(leader.perHandler, leader.allowed ?? leader.perHandler);
  // Slots that a run that is gone still holds are not this run's share: otherwise it would be
  // granted nothing while a slot is free, and ask without end.
  const isGone = ({ leader, no }: { leader: number; no: number }): boolean =>
    leader === input.leaderId && no < leadership.epoch * TURNS_PER_EPOCH;
  const granted =
    leadership.live.length >= MAX_DISPATCHES
      ? 0
      : grantSlots({
          limit,
          leader: input.leaderId,
          activeLeaders: tokens.active,
          othersBlocked: tokens.blocked > 0,
          granted: tokens.slots.map((held) => ({ ...held, leader: isGone(held) ? 'gone' : held.leader })),
          wanted: limit,
        });
  const slots = await sharedSlots(client, leader.shares, leader.handlerId, granted);
  const no = leadership.epoch * TURNS_PER_EPOCH + input.turn;
  const { rateChanges } = leader;
  if (slots > 0)
    await insertDispatch(client, { leaderId: input.leaderId, no, handlerId: leader.handlerId, slots, rateChanges });
  return { no, slots, wanting: slots === 0, wholeHandler: hasLimitsOverTargets(leader) };
};

/** Returns how many of these new slots the limit leaves that the handler shares with others. */
const sharedSlots = async (
  client: Client,
  shares: number | null,
  handlerId: number,
  wanted: number,
): Promise<number> =>
  shares === null || wanted === 0
    ? wanted
    : grantShared(await lockSharedSlots(client, shares, handlerId), handlerId, wanted);

/**
 * Lets all dispatches of the handlers that share a limit give up their part, where they hold more
 * than it has now. Returns what this one keeps; null: they do not.
 */
const keepToShared = async (
  client: Client,
  shares: number,
  { handlerId, leaderId, no }: { handlerId: number; leaderId: number; no: number },
): Promise<number | null> => {
  const { concurrency, slots } = await lockSharedSlots(client, shares, handlerId);
  const parts = shareSlots(
    concurrency ?? Infinity,
    slots.map((held) => held.slots),
  );
  const less = slots
    .map((held, i) => ({ ...held, slots: parts[i]! }))
    .filter((held, i) => held.slots < slots[i]!.slots);
  if (less.length === 0) return null;
  await setSlots(client, less);
  return parts[slots.findIndex((held) => held.leader === leaderId && held.no === no)] ?? 0;
};

/**
 * Recomputes the slots of a running dispatch: all dispatches of the handler give up their part
 * where they hold more than is allowed now; otherwise this one gets the free slots that it wants,
 * by the rule of a reservation. One without a sign of life for long has none to begin with. Returns
 * its slots; 0: it is to end.
 */
export const adjustSlots = async (
  client: Client,
  dispatch: { handlerId: number; leaderId: number; no: number; wanted: number },
): Promise<number> => {
  const { handlerId, leaderId, no, wanted } = dispatch;
  const { limit, shares } = await lockHandlerLimit(client, handlerId);
  if (shares !== null) {
    const kept = await keepToShared(client, shares, dispatch);
    if (kept !== null) return kept;
  }
  const { slots: held, active, blocked } = await readSlotTokens(client, handlerId, leaderId, [no]);
  const at = held.findIndex((one) => one.leader === leaderId && one.no === no);
  const parts = shareSlots(
    limit,
    held.map(({ slots }) => slots),
  );
  const less = held.map((one, i) => ({ ...one, slots: parts[i]! })).filter(({ slots }, i) => slots < held[i]!.slots);
  if (less.length > 0) {
    await setSlots(client, less);
    return parts[at] ?? 0;
  }
  const own = held[at]?.slots ?? 0;
  const more = grantSlots({
    limit,
    leader: leaderId,
    activeLeaders: active,
    othersBlocked: blocked > 0,
    granted: held,
    wanted: wanted - own,
  });
  const slots = own + (await sharedSlots(client, shares, handlerId, more));
  if (at < 0) return slots > 0 && (await reviveDispatch(client, leaderId, no, slots)) ? slots : 0;
  if (slots > own) await setSlots(client, [{ leader: leaderId, no, slots }]);
  return slots;
};

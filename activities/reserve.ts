import type { TurnInput } from '../workflows/contracts';
import { grantSlots } from '../workflows/planning/slots';
import type { LockedLeader } from '../postgres/leader';
import { lockLeaderAndHandler } from '../postgres/leader';
import type { Client } from '../postgres/pool';
import { forgetDispatches, insertDispatch, readSlotTokens } from '../postgres/slots';

/** Submissions in flight of one leader: slow calls in a few leave room for others (A18). */
export const MAX_DISPATCHES = 8;
/** dispatch.no = epoch * this + turn: never used twice by one leader. */
export const TURNS_PER_EPOCH = 1_000_000;

/** Who asks, by the guard of every leader-side write (store.md section 3). */
export type Standing =
  | { kind: 'leads'; epoch: number; live: readonly number[] }
  /** A later run holds the row: the one that asks is a zombie. (The workflow id is the lock: runs start one after another.) */
  | { kind: 'deposed' }
  | { kind: 'repeated' };

/** `row`: of a leader or a queuer, locked. */
export const standingOf = (
  row: Pick<LockedLeader, 'holder' | 'runStartedAtMs' | 'epoch' | 'turn'>,
  input: Pick<TurnInput, 'runId' | 'runStartedAtMs' | 'turn' | 'live'>,
): Standing => {
  const mine = row.holder === input.runId;
  if (!mine && row.runStartedAtMs !== null && row.runStartedAtMs > input.runStartedAtMs) return { kind: 'deposed' };
  if (mine && input.turn <= row.turn) return { kind: 'repeated' };
  return { kind: 'leads', epoch: mine ? row.epoch : row.epoch + 1, live: mine ? input.live : [] };
};

/** False: the run was started for another leader, of a store that this one has replaced (made anew, restored), or of one beside it. */
export const isOwn = (
  row: Pick<LockedLeader, 'handler' | 'name' | 'installation'>,
  { handler, name, installation }: Pick<TurnInput, 'handler' | 'name' | 'installation'>,
): boolean =>
  (handler ?? row.handler) === row.handler &&
  (name ?? row.name) === row.name &&
  (installation ?? row.installation) === row.installation;

export interface Reservation {
  /** Of the submission to be. */
  no: number;
  slots: number;
  /** Something is due, and no slot was free for it. */
  wanting: boolean;
  /** The handler has limits over all its targets besides slots (rate, weight in flight): the claim is to hold its lock. */
  wholeHandler: boolean;
}

/**
 * Forgets the slots of dead submissions, and takes some for the turn's own, if it may claim and there is anything to claim; the claim gives back what it does not use. A
 * process that dies in between leaves a reservation that no workflow knows: the leader's next turn forgets it.
 */
export const reserveSlots = async (client: Client, input: TurnInput): Promise<Reservation | null> => {
  const leader = await lockLeaderAndHandler(client, input.leaderId);
  if (leader === null || !isOwn(leader, input)) return null;
  const standing = standingOf(leader, input);
  if (standing.kind !== 'leads') return null; // the claim finds the same, and answers for it
  await forgetDispatches(client, input.leaderId, standing.live);
  if (!input.mayClaim || leader.paused || leader.handlerHoldMs !== null) return null;
  const tokens = await readSlotTokens(client, leader.handlerId, input.leaderId, standing.live);
  if (!tokens.due) return null;
  const limit = Math.min(leader.perHandler, leader.allowed ?? leader.perHandler);
  const slots =
    standing.live.length >= MAX_DISPATCHES
      ? 0
      : grantSlots({
          limit,
          leader: input.leaderId,
          activeLeaders: tokens.active,
          othersBlocked: tokens.blocked > 0,
          granted: tokens.slots,
          wanted: limit,
        });
  const no = standing.epoch * TURNS_PER_EPOCH + input.turn;
  if (slots > 0) await insertDispatch(client, { leaderId: input.leaderId, no, handlerId: leader.handlerId, slots });
  const wholeHandler = leader.weightPerHandler !== null || leader.rates.some((rate) => rate.scope === 'handler');
  return { no, slots, wanting: slots === 0, wholeHandler };
};

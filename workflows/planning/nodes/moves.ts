import type { Board, Item } from './board';
import type { Seats } from './seats';
import { isFree } from './stand';
import type { Limits, Move, MoveReason } from './types';
import { assignWords, revokeWords } from './words';

/** Those that cannot stay where they are go first, when not all may go in one round. */
const URGENCY: Readonly<Record<MoveReason, number>> = {
  'claimed twice': 0,
  pinned: 1,
  attributes: 2,
  drain: 3,
  uneven: 4,
  load: 4,
  free: 5,
  expired: 5,
};

/**
 * What of the plan is said in this round. First what nobody holds is given out; then as many revokes as a round may have, none of them of
 * or for a node that is given something in this round: it first sees what it has (no node gains and loses in one round).
 */
export const movesOf = (board: Board, seats: Seats, limits: Limits): Move[] => {
  const assigns = board.items.filter(({ seat, facts }) => seat >= 0 && isFree(facts)).map((item) => assignOf(board, item, limits.by)); // prettier-ignore
  const gaining = new Set(assigns.map(({ to }) => to));
  const revokes = board.items
    .filter((item) => isRevoked(item, seats))
    .map((item) => ({ item, reason: reasonOf(item), to: board.seats[item.seat]!.process.id }))
    .filter(({ item, to }) => !gaining.has(to) && !gaining.has(item.facts.holder))
    .sort((a, b) => URGENCY[a.reason] - URGENCY[b.reason] || (a.item.step?.order ?? 0) - (b.item.step?.order ?? 0))
    .slice(0, limits.movesPerRound)
    .map(({ item, reason, to }): Move => {
      const { id, holder } = item.facts;
      return { partition: id, kind: 'revoke', from: holder, to, reason, words: revokeWords(board, item) };
    });
  return [...assigns, ...revokes];
};

const assignOf = (board: Board, item: Item, by: Limits['by']): Move => {
  const { id, holder } = item.facts;
  const reason = item.leaves === 'claimed twice' ? 'claimed twice' : holder === null ? 'free' : 'expired';
  const to = board.seats[item.seat]!.process.id;
  return { partition: id, kind: 'assign', from: holder, to, reason, words: assignWords(board, item, by) };
};

const isRevoked = (item: Item, { processes }: Seats): boolean => {
  const { facts, seat, origin, young, leaves } = item;
  if (seat < 0 || isFree(facts) || facts.revokedFor !== null) return false;
  const holder = processes.get(facts.holder!);
  // Nobody there to give it up: its lease ends by itself.
  if (holder === undefined || !holder.process.alive) return false;
  // Started again under its name: the old process ends by itself, and what it had is the new one's as soon as it is free.
  if (holder.process !== holder.seat.process) return leaves === 'drain' || leaves === 'claimed twice';
  if (leaves !== null) return true;
  return origin >= 0 && seat !== origin && !young;
};

const reasonOf = ({ leaves, step }: Item): MoveReason => leaves ?? step?.reason ?? 'uneven';

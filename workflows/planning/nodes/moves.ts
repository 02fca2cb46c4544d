import type { Board, Item } from './board';
import type { Seats } from './seats';
import { isFree } from './stand';
import type { Limits, Move, MoveReason } from './types';
import { assignWords, revokeWords } from './words';

/** Partitions that cannot stay where they are go first, when not all may go in one round. */
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
 * Returns the moves of this round. First, every free partition is given out; then come as many
 * revokes as a round may have, none of them of or for a node that is given something in this round:
 * it first reads what it has (no node gains and loses in one round).
 */
export const movesOf = (board: Board, seats: Seats, limits: Limits): Move[] => {
  const assigns = board.items
    .filter(({ seat, facts }) => seat >= 0 && isFree(facts))
    .map((item) => assignOf(board, item, limits.by));
  const wanted = board.items.filter((item) => isRevoked(item, seats)).map((item) => revokeOf(board, item));
  const revokes = apartFrom(new Set(assigns.map(({ to }) => to)), wanted)
    .sort((a, b) => URGENCY[a.reason] - URGENCY[b.reason] || (a.item.step?.order ?? 0) - (b.item.step?.order ?? 0))
    .slice(0, limits.movesPerRound)
    .map(({ item, from, to, reason }): Move => {
      return { partition: item.facts.id, kind: 'revoke', from, to, reason, words: revokeWords(board, item) };
    });
  return [...assigns, ...revokes];
};

interface Revoke {
  item: Item;
  from: string;
  to: string;
  reason: MoveReason;
}

const revokeOf = (board: Board, item: Item): Revoke => {
  const reason = item.leaves ?? item.step?.reason ?? 'uneven';
  return { item, from: item.facts.holder!, to: board.seats[item.seat]!.process.id, reason };
};

/**
 * Returns the revokes that may go out while these nodes are given something: none of them or for
 * them. Where one waits, revokes that would give something to either of its two nodes wait too:
 * otherwise it would wait for them in turn, and so on (at most four rounds to settle).
 */
const apartFrom = (gaining: ReadonlySet<string | null>, revokes: readonly Revoke[]): Revoke[] => {
  const byTaker = new Map<string, Revoke[]>();
  for (const revoke of revokes) {
    const known = byTaker.get(revoke.to);
    if (known === undefined) byTaker.set(revoke.to, [revoke]);
    else known.push(revoke);
  }
  const waiting = new Set(revokes.filter(({ from, to }) => gaining.has(from) || gaining.has(to)));
  // Iterating over a set also visits what is added meanwhile.
  for (const { from, to } of waiting)
    for (const node of [from, to]) {
      for (const revoke of byTaker.get(node) ?? []) waiting.add(revoke);
      byTaker.delete(node);
    }
  return revokes.filter((revoke) => !waiting.has(revoke));
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
  // There is no process to give it up: its lease ends by itself.
  if (holder === undefined || !holder.process.alive) return false;
  // Started again under its name: the old process ends by itself, and what it had goes to the new
  // one as soon as it is free.
  if (holder.process !== holder.seat.process) return leaves === 'drain' || leaves === 'claimed twice';
  if (leaves !== null) return true;
  return origin >= 0 && seat !== origin && !young;
};

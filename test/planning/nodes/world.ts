import { assign } from '../../../workflows/planning/nodes/assign';
import type { Limits, Move, NodeFacts, PartitionFacts } from '../../../workflows/planning/nodes/types';

/** Facts with defaults, and a world in which what the assignor says happens. */

export const LONG = 3_600_000;
export const LEASE = 10_000;

export const limitsOf = (limits: Partial<Limits> = {}): Limits => ({
  movesPerRound: Infinity,
  minimumHoldMs: 0,
  deadBand: 0.1,
  by: 'count',
  ...limits,
});

export const partition = (id: string, holder: string | null, facts: Partial<PartitionFacts> = {}): PartitionFacts => ({
  id,
  holder,
  epoch: holder === null ? 0 : 1,
  expired: false,
  heldMs: LONG,
  revokedFor: null,
  weight: 1,
  attributes: {},
  handler: null,
  pinned: null,
  ...facts,
});

export const node = (id: string, facts: Partial<NodeFacts> = {}): NodeFacts => ({
  id,
  alive: true,
  draining: false,
  attributes: {},
  handlers: [],
  isKept: false,
  successorOf: null,
  ...facts,
});
export const nodes = (...ids: string[]): NodeFacts[] => ids.map((id) => node(id));
export const dead = (id: string, facts: Partial<NodeFacts> = {}): NodeFacts => node(id, { alive: false, ...facts });

/** `{ a: ['0', '1'], b: ['2'] }`; what `''` has nobody holds. */
export const held = (by: Record<string, readonly (string | number)[]>): PartitionFacts[] =>
  Object.entries(by).flatMap(([holder, ids]) => ids.map((id) => partition(String(id), holder === '' ? null : holder)));

/** Numbers with leading zeros, so that they sort. */
export const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, i) => String(from + i).padStart(6, '0'));

export const short = (moves: readonly Move[]): string[] =>
  moves.map(({ partition: id, kind, from, to, reason }) => `${kind} ${id} ${from ?? '-'}>${to ?? '-'} ${reason}`);

/** What a round says is written: an assign takes a new epoch, a revoke keeps for whom it is. */
export const applied = (partitions: readonly PartitionFacts[], moves: readonly Move[]): PartitionFacts[] => {
  const byId = new Map(moves.map((move) => [move.partition, move]));
  return partitions.map((facts): PartitionFacts => {
    const move = byId.get(facts.id);
    if (move === undefined) return facts;
    if (move.kind === 'revoke') return { ...facts, revokedFor: move.to };
    return {
      ...facts,
      holder: move.to,
      epoch: facts.epoch + 1,
      expired: false,
      heldMs: 0,
      revokedFor: null,
    };
  });
};

/** Whoever was asked to gives up what it has; its row keeps its name. */
export const released = (partitions: readonly PartitionFacts[]): PartitionFacts[] =>
  partitions.map((facts) => (facts.revokedFor === null ? facts : { ...facts, expired: true }));

/** What these nodes had is free: their leases ran out. */
export const expired = (partitions: readonly PartitionFacts[], ...holders: string[]): PartitionFacts[] =>
  partitions.map((facts) => (holders.includes(facts.holder ?? '') ? { ...facts, expired: true } : facts));

export const later = (partitions: readonly PartitionFacts[], ms: number): PartitionFacts[] =>
  partitions.map((facts) => ({ ...facts, heldMs: facts.heldMs + ms }));

/** Rounds until one says nothing more; the last, empty one is not counted. */
export const settle = (
  partitions: readonly PartitionFacts[],
  among: readonly NodeFacts[],
  limits: Limits,
  roundMs = 0,
) => {
  const rounds: Move[][] = [];
  let now = [...partitions];
  for (;;) {
    const moves = assign(now, among, limits);
    const isWaiting = now.some(
      ({ revokedFor, expired: isFree, holder }) => revokedFor !== null && !isFree && holder !== null,
    );
    if (moves.length === 0 && !isWaiting) return { partitions: now, rounds };
    if (rounds.push(moves) > 1_000)
      throw new Error(`expected it to settle, got 1,000 rounds, the last ${short(moves).join('; ')}`);
    now = released(later(applied(now, moves), roundMs));
  }
};

/** Who holds how many, of these nodes. */
export const countsOf = (partitions: readonly PartitionFacts[], among: readonly NodeFacts[]): number[] =>
  among.map(({ id }) => partitions.filter((facts) => facts.holder === id && !facts.expired).length);
export const spread = (numbers: readonly number[]): number => Math.max(...numbers) - Math.min(...numbers);

/** Held partitions that went to another node. */
export const moved = (before: readonly PartitionFacts[], after: readonly PartitionFacts[]): number => {
  const holder = new Map(after.map((facts) => [facts.id, facts.holder]));
  return before.filter((facts) => facts.holder !== null && !facts.expired && holder.get(facts.id) !== facts.holder)
    .length;
};

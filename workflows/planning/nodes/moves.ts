import type { Plan, PlannedPartition } from './plan';
import type { Fleet } from './fleet';
import { isFree } from './currentAssignment';
import type { Limits, Move, MoveReason } from './types';
import { explainAssign, explainRevoke } from './explanations';

/** Partitions that cannot stay where they are go first, when not all may go in one round. */
const URGENCY: Readonly<Record<MoveReason, number>> = {
  pinned: 0,
  attributes: 1,
  drain: 2,
  uneven: 3,
  load: 3,
  free: 4,
  expired: 4,
};

/**
 * Returns the moves of this round. First, every free partition is given out; then come as many
 * revokes as a round may have, none of them of or for a node that is given something in this round:
 * it first reads what it has (no node gains and loses in one round).
 */
export const movesOf = (plan: Plan, fleet: Fleet, limits: Limits): Move[] => {
  const assigns = plan.partitions
    .filter(({ node, facts }) => node >= 0 && isFree(facts))
    .map((partition) => assignOf(plan, partition, limits.by));
  const wanted = plan.partitions
    .filter((partition) => isRevoked(partition, fleet))
    .map((partition) => revokeOf(plan, partition));
  const revokes = apartFrom(new Set(assigns.map(({ to }) => to)), wanted)
    .sort(
      (a, b) =>
        URGENCY[a.reason] - URGENCY[b.reason] || (a.partition.step?.order ?? 0) - (b.partition.step?.order ?? 0),
    )
    .slice(0, limits.movesPerRound)
    .map(({ partition, from, to, reason }): Move => {
      return {
        partition: partition.facts.id,
        kind: 'revoke',
        from,
        to,
        reason,
        explanation: explainRevoke(plan, partition),
      };
    });
  return [...assigns, ...revokes];
};

interface Revoke {
  partition: PlannedPartition;
  from: string;
  to: string;
  reason: MoveReason;
}

const revokeOf = (plan: Plan, partition: PlannedPartition): Revoke => {
  const reason = partition.leaves ?? partition.step?.reason ?? 'uneven';
  return { partition, from: partition.facts.holder!, to: plan.nodes[partition.node]!.process.id, reason };
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

const assignOf = (plan: Plan, partition: PlannedPartition, by: Limits['by']): Move => {
  const { id, holder } = partition.facts;
  const reason = holder === null ? 'free' : 'expired';
  const to = plan.nodes[partition.node]!.process.id;
  return { partition: id, kind: 'assign', from: holder, to, reason, explanation: explainAssign(plan, partition, by) };
};

const isRevoked = (partition: PlannedPartition, { processes }: Fleet): boolean => {
  const { facts, node, origin, young, leaves } = partition;
  if (node < 0 || isFree(facts) || facts.revokedFor !== null) return false;
  const holder = processes.get(facts.holder!);
  // There is no process to give it up: its lease ends by itself.
  if (holder === undefined || !holder.process.alive) return false;
  // Started again under its name: the old process ends by itself, and what it had goes to the new
  // one as soon as it is free.
  if (holder.process !== holder.node.process) return leaves === 'drain';
  if (leaves !== null) return true;
  return origin >= 0 && node !== origin && !young;
};

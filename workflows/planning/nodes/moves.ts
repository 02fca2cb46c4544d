import type { Plan, PlannedPartition } from './plan';
import type { Fleet } from './fleet';
import { isFree } from './currentAssignment';
import type { Limits, Move, MoveReason } from './types';
import { explainAssign, explainRevoke } from './explanations';

/**
 * The order of moves if not all of them fit into one round: partitions that cannot stay where they
 * are go first.
 */
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
 * Returns the moves of this round. First, every free partition is assigned. Then come as many
 * revokes as a round may have, but none from or for a node that is assigned a partition in this
 * round: no node gains and loses in one round, and a node that gains reads first what it has.
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
 * Returns the revokes that may go out while the `gaining` nodes are assigned partitions: none from
 * or for such a node. Where one revoke waits, the revokes that would give a partition to either of
 * its two nodes wait too. Otherwise the first would have to wait for those in the next round, and
 * so on, instead of being settled within four rounds.
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
  // No process is left to give the partition up: its lease ends by itself.
  if (holder === undefined || !holder.process.alive) return false;
  // The node was restarted under its name: the old process ends by itself, and its partitions go to
  // the new one as soon as they are free.
  if (holder.process !== holder.node.process) return leaves === 'drain';
  if (leaves !== null) return true;
  return node !== origin && !young;
};

import { Plan } from './plan';
import { evenOut } from './evenOut';
import { evenOutEach } from './evenOutEach';
import { movesOf } from './moves';
import { sortedById } from './order';
import { placeUnassigned } from './place';
import { fleetOf } from './fleet';
import { currentAssignment } from './currentAssignment';
import type { Limits, Move, NodeFacts, PartitionFacts } from './types';
import { mostEachOf, weigh } from './weigh';

/**
 * Plans one round of the assignor: which nodes give up which partitions, and which nodes get the
 * free ones. The plan is sticky: partitions that are well placed stay, and as few as possible move.
 * A move takes two steps: a held partition is revoked in one round (`revokedFor` names the next
 * node) and assigned in a later one, once it is free. If nodes release revoked partitions at once
 * and moves are not limited, everything is settled within four rounds by count. By weight, one in
 * 10,000 random fleets needed more than four, and none of a million more than six.
 *
 * - By count, the counts of nodes that are able to have the same partitions differ by at most 1;
 *   with attributes they are as even as possible. The moves are the fewest possible if all nodes
 *   are able to have everything (see `evenOut` for the rest). A node gives only to a node with at
 *   least 2 fewer, directly or at the end of a chain of nodes that each take one and give one. The
 *   partitions that leave a node are chosen so that each handler's partitions are even too, as far
 *   as that costs no additional move.
 * - By weight, the loads are within the dead band around their mean, as far as whole partitions
 *   allow, and no node is given more than 1.5 times its share of the count. A move that has begun
 *   is finished.
 * - A partition that its holder got less than the minimum hold ago is not moved for evenness, only
 *   for a drain, a lost ability or a pin.
 * - Partitions that are kept for a node that restarts wait for it, any other missing one is dead.
 *   Partitions whose lease ended while their node was alive go back to that node, or to its
 *   successor, if they still fit there.
 * - A partition that no node is able to have stays as it is. A pin to a node that is missing or not
 *   able has no effect.
 *
 * The plan depends only on the arguments, and not on their order. Ids are compared by code point.
 * @throws Error for a partition or node that is given twice.
 */
export const assign = (partitions: readonly PartitionFacts[], nodes: readonly NodeFacts[], limits: Limits): Move[] => {
  const fleet = fleetOf(nodes);
  if (fleet.open.length === 0) return [];
  const plan = new Plan(fleet.open, currentAssignment(sortedById('partitions', partitions), fleet, limits));
  if (limits.by === 'count') {
    placeUnassigned(plan, Infinity);
    evenOut(plan);
    evenOutEach(plan);
  } else {
    const mostEach = mostEachOf(plan.partitions.length, fleet.open.length);
    placeUnassigned(plan, mostEach);
    weigh(plan, { deadBand: limits.deadBand, mostEach });
  }
  return movesOf(plan, fleet, limits);
};

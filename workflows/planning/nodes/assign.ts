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
 * Plans one round of the assignor: which nodes give up which partitions, and which get the free
 * ones. Sticky: partitions that are well placed stay, and as few as possible move. In two steps: a
 * held partition is revoked in one round (`revokedFor` names the next node), and given in a later
 * one, when it is free; if each is released at once and moves are not limited, all is settled
 * within four rounds.
 *
 * - By count the nodes' counts differ by 1 at most, among nodes that are able to have the same;
 *   with attributes they are as even as they can be. Fewest moves: exact where all nodes are able
 *   to have everything (see `evenOut` for the rest). A node gives only to one with at least 2
 *   less, directly or at the end of a chain of nodes that each take one and give one. Which of a
 *   node's partitions go is chosen so that each handler's are even too, as far as that costs no
 *   additional move.
 * - By weight the loads are within the dead band of their mean as far as whole partitions allow,
 *   and no node is given more than 1.5 times its share of the count.
 * - A partition that came less than the minimum hold ago is not moved for evenness, only for a
 *   drain, a lost ability, a pin.
 * - Partitions of a node that is missing within the restart grace wait for it. Partitions whose
 *   lease ended while the node was alive go back to it, or to its successor, if they still fit.
 * - A partition that no node is able to have stays as it is; a pin to a node that is missing or not
 *   able has no effect.
 *
 * Depends on nothing but its arguments, and not on their order. Ids are compared by code point.
 * @throws Error for a partition or node that is there twice.
 */
export const assign = (partitions: readonly PartitionFacts[], nodes: readonly NodeFacts[], limits: Limits): Move[] => {
  const fleet = fleetOf(nodes, limits.restartGraceMs);
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

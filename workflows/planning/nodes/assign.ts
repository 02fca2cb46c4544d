import { Board } from './board';
import { evenOut } from './evenOut';
import { evenOutEach } from './evenOutEach';
import { movesOf } from './moves';
import { sortedById } from './order';
import { placeHomeless } from './place';
import { seatsOf } from './seats';
import { standOf } from './stand';
import type { Limits, Move, NodeFacts, PartitionFacts } from './types';
import { mostEachOf, weigh } from './weigh';

/**
 * One round of the assignor: who gives up what, and who gets what nobody holds (B1, B2, B13 to
 * B17). Sticky: what stands well stays, and as little as possible goes. In two steps: a held
 * partition is revoked in one round (`revokedFor` keeps for whom), and given in a later one, when
 * it is free; with everything released at once and no limit on moves, all is settled within four
 * rounds.
 *
 * - By count the nodes' counts differ by 1 at most, among nodes that are able to have the same;
 *   with attributes they are as even as they can be. Fewest moves: exact where all nodes are able
 *   to have everything (see `evenOut` for the rest). Somebody gives only to who has at least 2
 *   less, directly or at the end of a chain of nodes that each take one and give one. Which of a
 *   node's partitions go is chosen so that each handler's are even too, as far as that costs no
 *   move more.
 * - By weight the loads are within the dead band of their mean as far as whole partitions allow,
 *   and no node is given more than 1.5 times its share of the count.
 * - A partition that came less than the minimum hold ago is not moved for evenness. It is for a
 *   drain, a lost ability, a pin.
 * - What a node had that is missing within the restart grace waits for it. What it had while alive
 *   and its lease ended goes back to it, or to its successor, if it still fits.
 * - What no node is able to have stays as it is; a pin to a node that is not there or not able is
 *   as if it were not.
 *
 * Depends on nothing but its arguments, and not on their order. Ids are compared by code point.
 * @throws Error for a partition or node that is there twice.
 */
export const assign = (partitions: readonly PartitionFacts[], nodes: readonly NodeFacts[], limits: Limits): Move[] => {
  const seats = seatsOf(nodes, limits.restartGraceMs);
  if (seats.open.length === 0) return [];
  const board = new Board(seats.open, standOf(sortedById('partitions', partitions), seats, limits));
  if (limits.by === 'count') {
    placeHomeless(board, Infinity);
    evenOut(board);
    evenOutEach(board);
  } else {
    const mostEach = mostEachOf(board.items.length, seats.open.length);
    placeHomeless(board, mostEach);
    weigh(board, { deadBand: limits.deadBand, mostEach });
  }
  return movesOf(board, seats, limits);
};

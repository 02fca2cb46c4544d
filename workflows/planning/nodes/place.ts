import type { Board, Item } from './board';
import { Heap } from './heap';
import type { Need } from './needs';

interface Entry {
  seat: number;
  /** As they were when it was put here: they only rise meanwhile. */
  load: number;
  count: number;
}

/**
 * Gives every unassigned partition to the able node with the least load: those with the fewest able
 * nodes first, the heaviest first. No node gets more than `mostEach` while another one is below. A
 * partition that no node is able to have stays unassigned, seat -1.
 */
export const placeHomeless = (board: Board, mostEach: number): void => {
  const homeless = board.items.filter(({ seat, need }) => seat < 0 && need.able.length > 0);
  homeless.sort((a, b) => a.need.able.length - b.need.able.length || b.weight - a.weight);
  const byNeed = new Map<Need, Heap<Entry>>();
  for (const item of homeless) {
    let heap = byNeed.get(item.need);
    if (heap === undefined) byNeed.set(item.need, (heap = heapOf(board, item.need)));
    board.put(item, leastLoaded(board, heap, mostEach) ?? fewest(board, item));
  }
};

const heapOf = (board: Board, need: Need): Heap<Entry> => {
  const heap = new Heap<Entry>((a, b) =>
    a.load !== b.load ? a.load < b.load : a.count !== b.count ? a.count < b.count : a.seat < b.seat,
  );
  for (const seat of need.able) heap.push({ seat, load: board.loads[seat]!, count: board.counts[seat]! });
  return heap;
};

const leastLoaded = ({ loads, counts }: Board, heap: Heap<Entry>, mostEach: number): number | null => {
  for (let top = heap.top(); top !== undefined; top = heap.top()) {
    const { seat } = top;
    if (counts[seat]! < mostEach && counts[seat] === top.count && loads[seat] === top.load) return seat;
    heap.pop();
    // A full node stays out: nothing leaves a node while others are placed.
    if (counts[seat]! < mostEach) heap.push({ seat, load: loads[seat]!, count: counts[seat]! });
  }
  return null;
};

const fewest = ({ counts }: Board, { need }: Item): number =>
  need.able.reduce((best, seat) => (counts[seat]! < counts[best]! ? seat : best));

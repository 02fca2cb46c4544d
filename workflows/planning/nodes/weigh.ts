import type { Board, Item } from './board';
import { Heap } from './heap';

/**
 * No node is given more than so many times its share of the count: idle partitions wake up some
 * day, and should not all be on one node.
 */
const COUNT_SLACK = 1.5;

/** Returns the most partitions that a node is given by load, however idle they are. */
export const mostEachOf = (partitions: number, nodes: number): number =>
  Math.max(Math.ceil((COUNT_SLACK * partitions) / nodes), Math.ceil(partitions / nodes) + 1);

/**
 * Evens out the loads within the dead band. A node above the band gives, or one that has more than
 * a node below it; a partition goes where it leaves the fuller of the two clearly less full than
 * before, so that a heavy one never goes to and fro. Each goes once per plan, directly, and not
 * before its minimum hold. A good plan, not the best one (which is bin packing).
 */
export const weigh = (board: Board, { deadBand, mostEach }: { deadBand: number; mostEach: number }): void => {
  const { loads, seats } = board;
  if (seats.length === 0) return;
  const standing = seats.map((): Set<Item> => new Set());
  for (const item of board.items) if (item.seat >= 0) standing[item.seat]!.add(item);
  spreadIdle(board, standing, mostEach);
  const mean = loads.reduce((sum, load) => sum + load, 0) / seats.length;
  const band = bandOf(mean, deadBand, mostEach);
  const fullest = new Heap<{ seat: number; load: number }>((a, b) =>
    a.load !== b.load ? a.load > b.load : a.seat < b.seat,
  );
  for (let seat = 0; seat < seats.length; seat++) fullest.push({ seat, load: loads[seat]! });
  for (let top = fullest.pop(); top !== undefined; top = fullest.pop()) {
    const { seat } = top;
    if (top.load !== loads[seat]) continue;
    const gift = bestGift(board, standing[seat]!, band);
    if (gift === null) continue;
    if (isAbove(loads[seat], seat, band)) band.left.add(seat);
    if (isBelow(loads[gift.to]!, gift.to, band)) band.left.add(gift.to);
    give(board, standing, gift, 'load');
    for (const changed of [seat, gift.to]) fullest.push({ seat: changed, load: loads[changed]! });
  }
};

interface Band {
  mean: number;
  /** A load that is too small to be worth a move, or to show in the sums. */
  nothing: number;
  high: number;
  low: number;
  /**
   * A node that left the band has to come back half of the way before it is left alone: otherwise
   * it would be at the edge, and out again with the next figures.
   */
  innerHigh: number;
  innerLow: number;
  /** Nodes that left the band. */
  left: Set<number>;
  /** What a move must gain. */
  margin: number;
  mostEach: number;
}
interface Gift {
  item: Item;
  to: number;
  /** Smaller is better: first by what it costs, then by what it leaves. */
  rank: readonly [cost: number, rest: number];
}

const bandOf = (mean: number, deadBand: number, mostEach: number): Band => ({
  mean,
  nothing: mean * 1e-9,
  high: mean * (1 + deadBand),
  low: mean * (1 - deadBand),
  innerHigh: mean * (1 + deadBand / 2),
  innerLow: mean * (1 - deadBand / 2),
  left: new Set(),
  margin: (mean * deadBand) / 2,
  mostEach,
});

const isAbove = (load: number, seat: number, { high, innerHigh, left }: Band): boolean =>
  load > (left.has(seat) ? innerHigh : high);
const isBelow = (load: number, seat: number, { low, innerLow, left }: Band): boolean =>
  load < (left.has(seat) ? innerLow : low);

const mayGo = ({ origin, young, step, need }: Item): boolean =>
  step === null && (origin < 0 || !young) && need.able.length > 1;

const bestGift = (board: Board, items: ReadonlySet<Item>, band: Band): Gift | null => {
  const { loads } = board;
  const takers = new Map<number, number>();
  let best: Gift | null = null;
  for (const item of items) {
    const { weight, need, seat } = item;
    if (weight <= band.nothing || !mayGo(item)) continue;
    let to = takers.get(need.index);
    if (to === undefined) takers.set(need.index, (to = leastLoaded(board, item, band.mostEach)));
    if (to < 0) continue;
    const [mine, theirs] = [loads[seat]!, loads[to]!];
    // A node below the mean gives nothing, one above it gets nothing: otherwise small partitions
    // would wander.
    if (mine <= band.mean || theirs >= band.mean) continue;
    if (!isAbove(mine, seat, band) && !isBelow(theirs, to, band)) continue;
    const fuller = Math.max(mine - weight, theirs + weight);
    if (fuller > mine - Math.min(weight, band.margin)) continue;
    // Neither goes beyond the band: the heaviest, so that few go. Otherwise (above 0, so after
    // those) the one that leaves the two most alike.
    const isWithin = mine - weight >= band.low && theirs + weight <= band.high;
    const gift: Gift = { item, to, rank: [item.origin < 0 ? 0 : 1, isWithin ? -weight : fuller] };
    if (best === null || isBetter(gift, best)) best = gift;
  }
  return best;
};

const isBetter = ({ rank, item }: Gift, other: Gift): boolean => {
  for (let i = 0; i < rank.length; i++) if (rank[i] !== other.rank[i]) return rank[i]! < other.rank[i]!;
  return item.facts.heldMs > other.item.facts.heldMs;
};

const leastLoaded = ({ loads, counts }: Board, { need, seat: own }: Item, mostEach: number): number => {
  let best = -1;
  for (const seat of need.able)
    if (seat !== own && counts[seat]! < mostEach && (best < 0 || loads[seat]! < loads[best]!)) best = seat;
  return best;
};

/** Lets a node that has too many, by count, give its lightest to the one that has the fewest. */
const spreadIdle = (board: Board, standing: readonly Set<Item>[], mostEach: number): void => {
  const { counts } = board;
  for (let seat = 0; seat < counts.length; seat++) {
    if (counts[seat]! <= mostEach) continue;
    const lightest = [...standing[seat]!].filter(mayGo);
    lightest.sort(
      (a, b) => Number(a.origin >= 0) - Number(b.origin >= 0) || a.weight - b.weight || b.facts.heldMs - a.facts.heldMs,
    );
    for (const item of lightest) {
      if (counts[seat]! <= mostEach) break;
      const to = item.need.able.reduce((best, one) => (counts[one]! < counts[best]! ? one : best));
      if (counts[to]! + 2 > counts[seat]!) continue;
      give(board, standing, { item, to, rank: [0, 0] }, 'uneven');
    }
  }
};

const give = (board: Board, standing: readonly Set<Item>[], { item, to }: Gift, reason: 'load' | 'uneven'): void => {
  const figures = reason === 'load' ? board.loads : board.counts;
  standing[item.seat]!.delete(item);
  board.shift(item, to, { reason, from: figures[item.seat]!, to: figures[to]!, end: to });
  standing[to]!.add(item);
};

import type { Board, Item } from './board';

/**
 * Evens out each handler's partitions among the nodes as well, without more moves and without
 * changing a node's count: a partition that the plan takes from a node stays there, and one of
 * another handler goes to the same node in its place, while that makes it more even. Which
 * partitions of a node go is otherwise arbitrary, so one node could end with all of one handler,
 * and another with all of the other's.
 */
export const evenOutEach = (board: Board): void => {
  const tally = new Tally(board);
  if (tally.handlers.length < 2) return;
  // The newest stay first.
  const leaving = board.items.filter(mayStay).sort((a, b) => a.facts.heldMs - b.facts.heldMs);
  for (let changed = true; changed;) {
    changed = false;
    for (const [at, item] of leaving.entries()) {
      const other = tally.betterThan(item);
      if (other === null) continue;
      tally.exchange(item, other);
      leaving[at] = other;
      changed = true;
    }
  }
};

/** Says whether it goes for evenness alone, from the node that holds it. */
const mayStay = ({ origin, seat, step, leaves }: Item): boolean =>
  step !== null && leaves === null && origin >= 0 && seat !== origin;

/** Partitions of each handler on each node, and which of them may go in place of another. */
class Tally {
  readonly handlers: (string | null)[];
  private readonly counts: Map<string | null, number>[];
  /** By node and handler: the one held longest is last. */
  private readonly staying: Map<string | null, Item[]>[];

  constructor(private readonly board: Board) {
    this.counts = board.seats.map(() => new Map<string | null, number>());
    this.staying = board.seats.map(() => new Map<string | null, Item[]>());
    for (const item of board.items) {
      if (item.seat < 0) continue;
      this.add(item.seat, item.facts.handler, 1);
      if (item.seat === item.origin && !item.young && item.need.able.length > 1) this.keep(item);
    }
    for (const piles of this.staying)
      for (const pile of piles.values()) pile.sort((a, b) => a.facts.heldMs - b.facts.heldMs);
    this.handlers = [...new Set(board.items.map(({ facts }) => facts.handler))];
  }

  /**
   * Returns the partition that should go in its place: of the handler of which its node has most
   * more than the other. Null: none.
   */
  betterThan({ origin, seat, facts: { handler } }: Item): Item | null {
    const own = this.of(seat, handler) - this.of(origin, handler);
    let best: Item | null = null;
    // Each of the two handlers comes nearer to even by its difference, minus the one that moves.
    let most = 2 - own;
    for (const other of this.handlers) {
      const difference = this.of(origin, other) - this.of(seat, other);
      if (other === handler || difference <= most) continue;
      const item = this.staying[origin]!.get(other)?.findLast(({ need }) => need.has(seat));
      if (item === undefined) continue;
      best = item;
      most = difference;
    }
    return best;
  }

  /** Exchanges two: `item` stays where it was, and `other` goes from there in its place. */
  exchange(item: Item, other: Item): void {
    const { origin, seat, step } = item;
    for (const [one, from, to] of [
      [item, seat, origin],
      [other, origin, seat],
    ] as const) {
      this.add(from, one.facts.handler, -1);
      this.add(to, one.facts.handler, 1);
      this.board.loads[from]! -= one.weight;
      this.board.loads[to]! += one.weight;
      one.seat = to;
    }
    const pile = this.staying[origin]!.get(other.facts.handler)!;
    pile.splice(pile.lastIndexOf(other), 1);
    if (!item.young) this.keep(item);
    other.step = step;
    item.step = null;
  }

  private keep(item: Item): void {
    const piles = this.staying[item.origin]!;
    const pile = piles.get(item.facts.handler);
    if (pile === undefined) piles.set(item.facts.handler, [item]);
    else pile.push(item);
  }

  private of(seat: number, handler: string | null): number {
    return this.counts[seat]!.get(handler) ?? 0;
  }

  private add(seat: number, handler: string | null, n: number): void {
    this.counts[seat]!.set(handler, this.of(seat, handler) + n);
  }
}

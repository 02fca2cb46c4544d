import type { Board, Piles } from './board';
import type { Need } from './needs';

/** One partition of a constraint goes from one node to another. */
export interface Hop {
  from: number;
  to: number;
  need: number;
}

/**
 * Finds which node can give to which. A search costs at most the able nodes of all constraints,
 * each looked at once.
 */
export class Chains {
  private readonly needs = new Map<number, Need>();
  /**
   * Nodes that can reach no node with two less. It stays so: a node that gives later is no fuller,
   * and reaches nothing of this (evenOut).
   */
  private readonly closed: Uint8Array;
  /** Number of the search that saw the node last. */
  private readonly seen: Int32Array;
  private readonly cameFrom: Int32Array;
  private readonly cameWith: Int32Array;
  private search = 0;

  constructor(
    private readonly board: Board,
    private readonly piles: Piles,
  ) {
    const seats = board.seats.length;
    this.closed = new Uint8Array(seats);
    this.seen = new Int32Array(seats);
    this.cameFrom = new Int32Array(seats);
    this.cameWith = new Int32Array(seats);
    for (const { need } of board.items) if (need.able.length > 1) this.needs.set(need.index, need);
  }

  isClosed(seat: number): boolean {
    return this.closed[seat] === 1;
  }

  /**
   * Returns the chain of the fewest moves from `start` to a node with at least two less, among
   * those to the emptiest. Null: there is none, and all that it reaches is closed. Assigning a
   * partition that has no node yet is no move.
   */
  from(start: number): Hop[] | null {
    this.search++;
    const most = this.board.counts[start]! - 2;
    const done = new Set<number>();
    const reached: number[] = [];
    this.seen[start] = this.search;
    let level = [start];
    while (level.length > 0) {
      const later: Hop[] = [];
      let end = -1;
      for (let i = 0; i < level.length; i++) {
        const seat = level[i]!;
        const count = this.board.counts[seat]!;
        if (count <= most && (end < 0 || count < this.board.counts[end]!)) end = seat;
        for (const [need, pile] of this.piles[seat]!) {
          if (pile.isEmpty || done.has(need)) continue;
          if (pile.isLoose) this.open(need, seat, level, done);
          else later.push({ from: seat, to: -1, need });
        }
      }
      if (end >= 0) return this.hopsTo(end, start);
      const next: number[] = [];
      for (const { from, need } of later) if (!done.has(need)) this.open(need, from, next, done);
      for (const seat of level) reached.push(seat);
      level = next;
    }
    for (const seat of reached) this.closed[seat] = 1;
    return null;
  }

  private open(need: number, from: number, level: number[], done: Set<number>): void {
    done.add(need);
    for (const seat of this.needs.get(need)!.able) {
      if (this.seen[seat] === this.search || this.closed[seat] === 1) continue;
      this.seen[seat] = this.search;
      this.cameFrom[seat] = from;
      this.cameWith[seat] = need;
      level.push(seat);
    }
  }

  private hopsTo(end: number, start: number): Hop[] {
    const hops: Hop[] = [];
    for (let to = end; to !== start; to = this.cameFrom[to]!)
      hops.unshift({ from: this.cameFrom[to]!, to, need: this.cameWith[to]! });
    return hops;
  }
}

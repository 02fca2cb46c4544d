import type { Board, Item, Piles } from './board';
import { Pile } from './board';
import type { Hop } from './chains';
import { Chains } from './chains';
import { Heap } from './heap';

interface Entry {
  seat: number;
  count: number;
  isReady: boolean;
}

/**
 * Evens out the counts. While some node has at least two more than another one that it can give to,
 * directly or through nodes that take one and give one, the fullest such node gives one along the
 * shortest such chain. At the end there is no such chain, and then no other distribution is more
 * even (an optimal semi-matching). If all nodes are able to have everything, the moves are the
 * fewest possible: each takes one from the fullest and gives it to the emptiest. With attributes
 * each chain is the shortest, but their sum need not be.
 */
export const evenOut = (board: Board): void => {
  const piles = pilesOf(board);
  const chains = new Chains(board, piles);
  const fullest = new Heap<Entry>(isFuller);
  const emptiest = new Heap<Entry>(isEmptier);
  const look = (seat: number): void => {
    const entry = { seat, count: board.counts[seat]!, isReady: board.ready[seat]! > 0 };
    fullest.push(entry);
    emptiest.push(entry);
  };
  for (let seat = 0; seat < board.seats.length; seat++) look(seat);
  for (let top = fullest.pop(); top !== undefined; top = fullest.pop()) {
    const { seat } = top;
    if (top.count !== board.counts[seat] || chains.isClosed(seat)) continue;
    const chain = direct(board, piles[seat]!, seat, emptiest) ?? chains.from(seat);
    if (chain === null) continue; // and with it all that it can reach
    give(board, piles, chain);
    look(seat);
    look(chain.at(-1)!.to);
  }
};

const isFuller = (a: Entry, b: Entry): boolean => {
  if (a.count !== b.count) return a.count > b.count;
  // Of two equally full nodes, the one that may give now.
  return a.isReady !== b.isReady ? a.isReady : a.seat < b.seat;
};

const isEmptier = (a: Entry, b: Entry): boolean => (a.count !== b.count ? a.count < b.count : a.seat < b.seat);

/**
 * Returns what a search would find, without one: all that the node has is of one constraint, and
 * every node may have it. Null: search.
 */
const direct = (
  { counts, seats }: Board,
  piles: ReadonlyMap<number, Pile>,
  from: number,
  emptiest: Heap<Entry>,
): Hop[] | null => {
  const some = [...piles].filter(([, pile]) => !pile.isEmpty);
  const [need, pile] = some[0] ?? [];
  if (need === undefined || some.length > 1 || pile!.need.able.length < seats.length) return null;
  let top = emptiest.top();
  while (top !== undefined && top.count !== counts[top.seat]) {
    emptiest.pop();
    top = emptiest.top();
  }
  return top === undefined || top.count + 2 > counts[from]! ? null : [{ from, to: top.seat, need }];
};

const pilesOf = (board: Board): Piles => {
  const piles = board.seats.map(() => new Map<number, Pile>());
  for (const item of board.items)
    if (item.seat >= 0 && item.need.able.length > 1) pileOf(piles, item.seat, item).add(item);
  return piles;
};

const pileOf = (piles: Piles, seat: number, { need }: Item): Pile => {
  const known = piles[seat]!.get(need.index);
  if (known !== undefined) return known;
  const pile = new Pile(need);
  piles[seat]!.set(need.index, pile);
  return pile;
};

const give = (board: Board, piles: Piles, chain: readonly Hop[]): void => {
  const last = chain.at(-1)!.to;
  const figures = {
    reason: 'uneven',
    from: board.counts[chain[0]!.from]!,
    to: board.counts[last]!,
    end: last,
  } as const;
  for (const { from, to, need } of chain) {
    const item = piles[from]!.get(need)!.take();
    board.shift(item, to, figures);
    pileOf(piles, to, item).add(item);
  }
};

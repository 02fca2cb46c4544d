import { byCodePoint, sortedById } from './order';
import type { NodeFacts, PartitionFacts } from './types';

/** A node under its own name, whichever process it is at present. */
export interface Seat {
  /** Index among the open nodes; -1 for the others. */
  index: number;
  /** The process that is the node: the last started of its name, a live one first. */
  process: NodeFacts;
  /**
   * `open`: may have partitions. `away`: missing within the grace: keeps what it had, gets nothing.
   * `closed`: loses what it had.
   */
  state: 'open' | 'away' | 'closed';
}

/** A process and the node that it is, or was before a later process of the same name. */
export interface Seated {
  seat: Seat;
  process: NodeFacts;
}

export interface Seats {
  open: Seat[];
  processes: ReadonlyMap<string, Seated>;
  names: ReadonlyMap<string, Seat>;
}

export const seatsOf = (nodes: readonly NodeFacts[], restartGraceMs: number): Seats => {
  const sorted = sortedById('nodes', nodes);
  const byName = new Map<string, NodeFacts[]>();
  for (const node of sorted) {
    const name = node.successorOf ?? node.id;
    const same = byName.get(name);
    if (same === undefined) byName.set(name, [node]);
    else same.push(node);
  }
  const open: Seat[] = [];
  const processes = new Map<string, Seated>();
  const names = new Map<string, Seat>();
  for (const [name, same] of [...byName].sort(([a], [b]) => byCodePoint(a, b))) {
    const process = same.reduce((best, one) => (isBefore(best, one) ? one : best));
    const state = stateOf(process, restartGraceMs);
    const seat: Seat = { index: state === 'open' ? open.length : -1, process, state };
    if (state === 'open') open.push(seat);
    names.set(name, seat);
    for (const one of same) processes.set(one.id, { seat, process: one });
  }
  return { open, processes, names };
};

const isBefore = (one: NodeFacts, other: NodeFacts): boolean => {
  if (one.alive !== other.alive) return other.alive;
  const [started, otherStarted] = [one.startedMs ?? 0, other.startedMs ?? 0];
  return started === otherStarted ? byCodePoint(one.id, other.id) < 0 : started < otherStarted;
};

const stateOf = ({ alive, draining, missingMs }: NodeFacts, restartGraceMs: number): Seat['state'] => {
  if (draining) return 'closed';
  if (alive) return 'open';
  return missingMs < restartGraceMs ? 'away' : 'closed';
};

/** Returns a node by its process or its name: operators write names. */
export const seatNamed = ({ processes, names }: Seats, idOrName: string): Seat | undefined =>
  processes.get(idOrName)?.seat ?? names.get(idOrName);

/** Says whether a node has all that a partition needs. */
export const isAble = (
  node: NodeFacts,
  { attributes, handler }: Pick<PartitionFacts, 'attributes' | 'handler'>,
): boolean =>
  (handler === null || node.handlers.includes(handler)) &&
  Object.entries(attributes).every(
    ([name, value]) => Object.hasOwn(node.attributes, name) && node.attributes[name] === value,
  );

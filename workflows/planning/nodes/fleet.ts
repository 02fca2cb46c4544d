import { byCodePoint, sortedById } from './order';
import type { NodeFacts, PartitionFacts } from './types';

/** A node under its own name, whichever process runs it at present. */
export interface Node {
  /** Index among the open nodes; -1 for the others. */
  index: number;
  /**
   * The process that runs the node: of the processes of its name the last one started, and a live
   * one before any other.
   */
  process: NodeFacts;
  /**
   * `open`: the node may have partitions. `away`: it restarts, keeps its partitions, and gets no
   * others. `closed`: it loses its partitions.
   */
  state: 'open' | 'away' | 'closed';
}

/** A process and its node, which a later process of the same name may run by now. */
export interface NodeProcess {
  node: Node;
  process: NodeFacts;
}

/** All nodes of a round. */
export interface Fleet {
  /** The nodes that may have partitions, by their index. */
  open: Node[];
  processes: ReadonlyMap<string, NodeProcess>;
  names: ReadonlyMap<string, Node>;
}

export const fleetOf = (nodes: readonly NodeFacts[]): Fleet => {
  const sorted = sortedById('nodes', nodes);
  const byName = new Map<string, NodeFacts[]>();
  for (const process of sorted) {
    const name = process.successorOf ?? process.id;
    const same = byName.get(name);
    if (same === undefined) byName.set(name, [process]);
    else same.push(process);
  }
  const open: Node[] = [];
  const processes = new Map<string, NodeProcess>();
  const names = new Map<string, Node>();
  for (const [name, same] of [...byName].sort(([a], [b]) => byCodePoint(a, b))) {
    const process = same.reduce((best, one) => (isBefore(best, one) ? one : best));
    const state = stateOf(process);
    const node: Node = { index: state === 'open' ? open.length : -1, process, state };
    if (state === 'open') open.push(node);
    names.set(name, node);
    for (const one of same) processes.set(one.id, { node, process: one });
  }
  return { open, processes, names };
};

const isBefore = (one: NodeFacts, other: NodeFacts): boolean => {
  if (one.alive !== other.alive) return other.alive;
  const [started, otherStarted] = [one.startedMs ?? 0, other.startedMs ?? 0];
  return started === otherStarted ? byCodePoint(one.id, other.id) < 0 : started < otherStarted;
};

const stateOf = ({ alive, draining, isKept }: NodeFacts): Node['state'] => {
  if (draining) return 'closed';
  if (alive) return 'open';
  return isKept ? 'away' : 'closed';
};

/** Returns the node with this process id or this name. Operators write names. */
export const nodeNamed = ({ processes, names }: Fleet, idOrName: string): Node | undefined =>
  processes.get(idOrName)?.node ?? names.get(idOrName);

/** Says whether a node has all that a partition needs. */
export const isAble = (
  node: NodeFacts,
  { attributes, handler }: Pick<PartitionFacts, 'attributes' | 'handler'>,
): boolean =>
  (handler === null || node.handlers.includes(handler)) &&
  Object.entries(attributes).every(
    ([name, value]) => Object.hasOwn(node.attributes, name) && node.attributes[name] === value,
  );

/** Decides which node gets which items: nodes that answered the roll call, and items in turn. */

/** A node that answered: live, not draining, `batch_support`, with the attributes asked for. */
export interface Candidate {
  id: string;
  /** It names the function among those that it has. */
  serves: boolean;
  /** Chunks of this execution that it holds now. */
  holds: number;
}

/** The number of nodes that means every node that answers. An absent number means the same. */
export const ALL_NODES = -1;
export const MAX_NODES = 10_000;

export const isNumberOfNodes = (value: unknown): boolean =>
  value === ALL_NODES || (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_NODES);

/** Returns how many nodes a request asks for; null: every node that answers. */
export const nodesAsked = (numberOfNodes: number = ALL_NODES): number | null =>
  numberOfNodes === ALL_NODES ? null : numberOfNodes;

/**
 * Returns how many nodes a round asks for: no chunk may be empty, and a resume asks for no more
 * than there is to do.
 */
export const nodesWanted = (numberOfNodes: number | null, pending: number): number =>
  Math.min(numberOfNodes ?? Infinity, pending);

/**
 * Returns the nodes that have the function; all nodes if none has it (each then reports that it is
 * missing, which counts an attempt, so that an execution of a misspelt function ends).
 */
export const fitting = (candidates: readonly Candidate[]): Candidate[] => {
  const serving = candidates.filter(({ serves }) => serves);
  return serving.length > 0 ? serving : [...candidates];
};

/**
 * Chooses the nodes of a round: those that hold the fewest chunks first; each round begins with
 * another node, so that a retry goes elsewhere.
 */
export const chooseNodes = (candidates: readonly Candidate[], wanted: number, round: number): string[] => {
  const sorted = fitting(candidates).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const first = sorted.length === 0 ? 0 : (round - 1) % sorted.length;
  const rotated = [...sorted.slice(first), ...sorted.slice(0, first)];
  return rotated
    .toSorted((a, b) => a.holds - b.holds)
    .slice(0, Math.max(0, wanted))
    .map(({ id }) => id);
};

/** Decides which of the nodes that answered the roll call get items. */

/**
 * A node that answered the roll call: live, not draining, able to run functions, and with the
 * required attributes and topic.
 */
export interface Candidate {
  id: string;
  /** The function is among those that the node says it has. */
  serves: boolean;
  /** How many chunks of this execution the node holds now. */
  holds: number;
}

/**
 * A `numberOfNodes` of -1 asks every node that answers, and so does a request without the number.
 */
export const ALL_NODES = -1;
export const MAX_NODES = 10_000;

export const isNumberOfNodes = (value: unknown): boolean =>
  value === ALL_NODES || (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_NODES);

/** Returns how many nodes a request asks for; null: as many as answer. */
export const nodesAsked = (numberOfNodes: number = ALL_NODES): number | null =>
  numberOfNodes === ALL_NODES ? null : numberOfNodes;

/**
 * Returns how many nodes a round needs: at most one per pending item, since no chunk may be empty.
 * `numberOfNodes` null: as many as answer.
 */
export const nodesWanted = (numberOfNodes: number | null, pending: number): number =>
  Math.min(numberOfNodes ?? Infinity, pending);

/**
 * Returns the nodes that have the function, or all nodes if none has it. In that case each node
 * reports that the function is missing, which counts an attempt, so that an execution of a misspelt
 * function ends.
 */
export const fitting = (candidates: readonly Candidate[]): Candidate[] => {
  const serving = candidates.filter(({ serves }) => serves);
  return serving.length > 0 ? serving : [...candidates];
};

/**
 * Chooses the nodes of a round: those that hold the fewest chunks first. Of equal nodes, each round
 * begins with another one, so that a retry goes elsewhere.
 */
export const chooseNodes = (candidates: readonly Candidate[], wanted: number, round: number): string[] => {
  const sorted = fitting(candidates).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const first = (round - 1) % sorted.length;
  const rotated = [...sorted.slice(first), ...sorted.slice(0, first)];
  return rotated
    .toSorted((a, b) => a.holds - b.holds)
    .slice(0, wanted)
    .map(({ id }) => id);
};

/** Who gets what (E3, E4): nodes that answered the roll call, and items in turn. */

/** A node that answered: live, not draining, `batch_support`, with the attributes asked for. */
export interface Candidate {
  id: string;
  /** It says that it has the function. */
  serves: boolean;
  /** Chunks of this execution that it holds now. */
  holds: number;
}

/**
 * How many nodes a round asks for: no chunk may be empty (E4), and a resume asks for no more than
 * there is to do.
 */
export const nodesWanted = (numberOfNodes: number | null, pending: number): number =>
  Math.min(numberOfNodes ?? Infinity, pending);

/**
 * Nodes that have the function; all, where none says so (each then answers that it is missing,
 * which counts an attempt, so that a misspelt function comes to an end).
 */
export const fitting = (candidates: readonly Candidate[]): Candidate[] => {
  const serving = candidates.filter(({ serves }) => serves);
  return serving.length > 0 ? serving : [...candidates];
};

/**
 * The nodes of a round: those with the fewest chunks in hand first, and each round begins with
 * another one, so that a retry goes elsewhere (E11).
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

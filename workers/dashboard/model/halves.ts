import type { BatchHalf } from '../../../workflows/contracts/dashboard';

/** A batch with those that were split from it. */
export interface Tree {
  batch: BatchHalf;
  halves: Tree[];
}

/** Returns the batches of a split as a tree; one whose parent is not among them stands on top. */
export const treesOf = (batches: readonly BatchHalf[]): Tree[] => {
  const trees = new Map(batches.map((batch): [number, Tree] => [batch.id, { batch, halves: [] }]));
  return [...trees.values()].filter((tree) => {
    const parent = tree.batch.parent === null ? undefined : trees.get(tree.batch.parent);
    parent?.halves.push(tree);
    return parent === undefined;
  });
};

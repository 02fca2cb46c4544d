/**
 * Returns the text whose md5 is a work item's content id. Not unique: ["a b"] and ["a", "b"] have
 * the same, as have [] and [""].
 */
export const contentText = (functionId: string, method: string, args: readonly string[]): string =>
  `${functionId}/${method} ${args.join(' ')}`;

/**
 * Returns the key of an item in the result document: copies of one content id after the first are
 * told apart by their number.
 */
export const resultKey = (contentId: string, copy: number): string => (copy === 1 ? contentId : `${contentId}#${copy}`);

/**
 * Returns the text whose md5 is a work item's content id. Different arguments may have the same
 * text: ["a b"] and ["a", "b"], or [] and [""].
 */
export const contentText = (functionId: string, method: string, args: readonly string[]): string =>
  `${functionId}/${method} ${args.join(' ')}`;

/**
 * Returns the key of an item in the result document: the content id, with `#copy` behind it for the
 * second and later copies.
 */
export const resultKey = (contentId: string, copy: number): string => (copy === 1 ? contentId : `${contentId}#${copy}`);

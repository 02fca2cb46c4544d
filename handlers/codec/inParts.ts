/** Works on a list in parts, at most so many at once. Returns the results in the list's order. */
export const inParts = async <T, R>(
  list: readonly T[],
  size: number,
  parallel: number,
  work: (part: readonly T[]) => Promise<readonly R[]>,
): Promise<R[]> => {
  if (list.length <= size) return list.length === 0 ? [] : [...(await work(list))];
  const parts: (readonly R[])[] = [];
  let next = 0;
  const runner = async (): Promise<void> => {
    for (let at = next++; at * size < list.length; at = next++)
      parts[at] = await work(list.slice(at * size, (at + 1) * size));
  };
  await Promise.all(Array.from({ length: parallel }, runner));
  return parts.flat();
};

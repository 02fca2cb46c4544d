/** Returns `n` of them, evenly likely; all, if there are no more. */
export const sampleOf = (ids: number[], n: number): number[] => {
  if (ids.length <= n) return ids;
  return Array.from({ length: n }, (_, i) => {
    const j = i + Math.floor(Math.random() * (ids.length - i));
    [ids[i], ids[j]] = [ids[j]!, ids[i]!];
    return ids[i];
  });
};

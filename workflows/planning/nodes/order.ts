/**
 * Compares by code point, as Postgres' "C" collation does; JavaScript's `<` compares UTF-16 units.
 */
export const byCodePoint = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const one = a.charCodeAt(i);
    const other = b.charCodeAt(i);
    // A half of a surrogate pair ranks above every other unit.
    if (one !== other) return rank(one) - rank(other);
  }
  return a.length - b.length;
};
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/**
 * Returns a copy sorted by id.
 *
 * @throws Error for a repeated id: one snapshot has each id once.
 */
export const sortedById = <T extends { readonly id: string }>(noun: string, facts: readonly T[]): T[] => {
  const sorted = [...facts].sort((a, b) => byCodePoint(a.id, b.id));
  for (let i = 1; i < sorted.length; i++)
    if (sorted[i]!.id === sorted[i - 1]!.id)
      throw new Error(`${noun}: expected each id once, got "${sorted[i]!.id}" twice; read them in one statement`);
  return sorted;
};

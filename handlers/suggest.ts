/** Counts the edits (insert, delete, replace, or swap two neighbours) that turn `a` into `b`. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, beforeLast[j - 2]! + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
}

/** Returns a suggestion such as `; did you mean "maxItems"?`, or '' if no known name is close. */
export function didYouMean(unknown: string, known: readonly string[]): string {
  if (unknown.length > 64) return '';
  const ranked = known
    .map((name) => ({ name, distance: editDistance(unknown.toLowerCase(), name.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best === undefined || best.distance > Math.max(1, Math.floor(best.name.length / 3))) return '';
  return `; did you mean "${best.name}"?`;
}

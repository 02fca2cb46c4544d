import type { Import } from './importScan';

/**
 * Returns the files that import each other, by value or by type, directly or through others: each
 * circle once, sorted.
 */
export const circlesOf = (imports: readonly Import[]): string[][] => {
  const edges = new Map<string, string[]>();
  for (const { from, to, isPackage } of imports)
    if (!isPackage) edges.set(nameOf(from), [...(edges.get(nameOf(from)) ?? []), to]);
  const reached = new Map([...edges.keys()].map((file) => [file, reachableFrom(file, edges)]));
  const circles = new Map<string, string[]>();
  for (const [file, others] of reached) {
    if (!others.has(file)) continue;
    const circle = [...others].filter((other) => reached.get(other)?.has(file) === true).sort();
    circles.set(circle.join(), circle);
  }
  return [...circles.values()];
};

const nameOf = (file: string): string => file.replace(/\.ts$/, '').replace(/\/index$/, '');

const reachableFrom = (file: string, edges: ReadonlyMap<string, readonly string[]>): Set<string> => {
  const reached = new Set<string>();
  const left = [...(edges.get(file) ?? [])];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (reached.has(next)) continue;
    reached.add(next);
    left.push(...(edges.get(next) ?? []));
  }
  return reached;
};

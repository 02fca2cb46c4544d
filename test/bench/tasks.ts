/** The tasks of a run, the same for every side. */

export interface BenchTask {
  id: string;
  target: string;
  payload: { target: string; n: number; text: string };
}

/** About 100 bytes of JSON. */
const TEXT = 'the quick brown fox jumps over the lazy dog and on';

/**
 * Task `n` of a run. Backlog: targets take turns, so that every target's tasks are spread over all
 * chunks. Live: a target by chance.
 */
export const taskAt = (run: string, n: number, targets: number, random: boolean): BenchTask => {
  const target = targetKey(run, random ? scattered(n) % targets : n % targets);
  return { id: `${run}-${n}`, target, payload: { target, n, text: TEXT } };
};

export const targetKey = (run: string, i: number): string => `${run}-t${i}`;
/** The number of a task in its run, from its id. */
export const numberOf = (id: string): number => Number(id.slice(id.lastIndexOf('-') + 1));

/** A fixed mix (murmur3's finalizer): the same targets in every run and on every side. */
const scattered = (n: number): number => {
  let x = (n + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
};

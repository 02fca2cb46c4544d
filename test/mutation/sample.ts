/** Returns a generator of numbers from 0 to 1, the same ones for the same seed (mulberry32). */
const randomOf = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
};

/** Returns `n` of them in their order, each with the same chance; all if there are no more. */
export const sampleOf = <T>(all: readonly T[], n: number, seed: number): T[] => {
  const random = randomOf(seed);
  const chosen = all.map((one, i) => ({ one, i, at: random() })).sort((a, b) => a.at - b.at);
  return chosen
    .slice(0, n)
    .sort((a, b) => a.i - b.i)
    .map(({ one }) => one);
};

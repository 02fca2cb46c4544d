/** When work goes on at the rate at which it arrives. Pure; times in ms, each list in order. */

const WINDOW_MS = 5_000;
const SHARE = 0.9;

/**
 * Returns how long after `fromMs` the first window begins in which tasks have their effect at 90 %
 * of the rate of arrivals; null: no such window up to `nowMs`. What arrived during the fault and is
 * worked off counts, too: whoever catches up has recovered.
 */
export const recoveredAfter = (
  effectsMs: readonly number[],
  arrivalsPerS: number,
  fromMs: number,
  nowMs: number,
): number | null => {
  const needed = Math.ceil((SHARE * arrivalsPerS * WINDOW_MS) / 1_000);
  let first = lowerBound(effectsMs, fromMs);
  for (let begin = fromMs; begin + WINDOW_MS <= nowMs;) {
    const inside = lowerBound(effectsMs, begin + WINDOW_MS) - first;
    if (inside >= needed) return begin - fromMs;
    const next = effectsMs[first];
    if (next === undefined) return null;
    begin = next + 1;
    first++;
  }
  return null;
};

/** Index of the first time that is not before `atMs`. */
const lowerBound = (times: readonly number[], atMs: number): number => {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! < atMs) low = middle + 1;
    else high = middle;
  }
  return low;
};

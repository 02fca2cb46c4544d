/** What the calls are held against. Pure. */

export interface Arrival {
  target: string;
  atMs: number;
}
export interface SentBatch {
  /** When the downstream had it. */
  atMs: number;
  /** When its tasks arrived. */
  arrivals: readonly number[];
}

/** A backlog's fewest calls: the sum of ceil(n/B) over the targets. */
export const fewestCalls = (tasks: number, targets: number, maxItems: number): number => {
  let calls = 0;
  for (let i = 0; i < Math.min(tasks, targets); i++) calls += Math.ceil(Math.ceil((tasks - i) / targets) / maxItems);
  return calls;
};

/**
 * Calls of the greedy rule on these arrivals (a batch goes when it is full, or when its oldest has
 * waited the linger): provably the fewest.
 */
export const greedyCalls = (arrivals: readonly Arrival[], maxItems: number, lingerMs: number): number => {
  const byTarget = new Map<string, number[]>();
  for (const { target, atMs } of arrivals) {
    const list = byTarget.get(target);
    if (list === undefined) byTarget.set(target, [atMs]);
    else list.push(atMs);
  }
  let calls = 0;
  for (const times of byTarget.values()) {
    times.sort((a, b) => a - b);
    for (let first = 0; first < times.length; calls++) {
      let next = first + 1;
      while (next < times.length && next - first < maxItems && times[next]! <= times[first]! + lingerMs) next++;
      first = next;
    }
  }
  return calls;
};

/** From "due" (full, or the oldest waited the linger, whichever came first) to "sent", in ms. */
export const lateness = (batch: SentBatch, maxItems: number, lingerMs: number): number => {
  const oldest = batch.arrivals.reduce((a, b) => Math.min(a, b), Infinity);
  const newest = batch.arrivals.reduce((a, b) => Math.max(a, b), -Infinity);
  const due = batch.arrivals.length >= maxItems ? Math.min(newest, oldest + lingerMs) : oldest + lingerMs;
  return batch.atMs - due;
};

/** Of sorted or unsorted numbers; NaN of none. `share` 0.5: the median. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? NaN;
};

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const at = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[at]! : (sorted[at - 1]! + sorted[at]!) / 2;
};

/** What a request may ask of a node at most, whatever the documents allow. */
export interface Ceilings {
  /** Items of a chunk that run at once. */
  maxConcurrency: number;
  /** Milliseconds of one run. */
  maxTimeoutMs: number;
}

/** What a request asks for; left out: the operator's default. */
interface Asked {
  concurrency?: number | undefined;
  timeoutMs?: number | undefined;
}

/** Returns each value that is above its ceiling. */
export const ceilingRefusal = (
  { maxConcurrency, maxTimeoutMs }: Ceilings,
  { concurrency, timeoutMs }: Asked,
): { name: 'concurrency' | 'timeoutMs'; most: number; got: number }[] => [
  ...(concurrency !== undefined && concurrency > maxConcurrency
    ? [{ name: 'concurrency' as const, most: maxConcurrency, got: concurrency }]
    : []),
  ...(timeoutMs !== undefined && timeoutMs > maxTimeoutMs
    ? [{ name: 'timeoutMs' as const, most: maxTimeoutMs, got: timeoutMs }]
    : []),
];

/** Returns what a node grants: the request's values or the defaults, each under its ceiling. */
export const granted = (
  ceilings: Ceilings,
  { concurrency, timeoutMs }: Asked,
  byDefault: { concurrency: number; timeoutMs: number },
): { concurrency: number; timeoutMs: number } => ({
  concurrency: Math.min(concurrency ?? byDefault.concurrency, ceilings.maxConcurrency),
  timeoutMs: Math.min(timeoutMs ?? byDefault.timeoutMs, ceilings.maxTimeoutMs),
});

/** How many there were of a kind, for one handler; empty: for several, or for none. */
export interface HandlerCount<K extends string = string> {
  kind: K;
  handler: string;
  n: number;
}

/** Counts by kind and handler what a process has to do with Temporal. */
export class HandlerCounts<K extends string = string> {
  private readonly counted = new Map<string, HandlerCount<K>>();

  add(kind: K, handler = ''): void {
    const key = `${kind}\n${handler}`;
    const known = this.counted.get(key);
    if (known === undefined) this.counted.set(key, { kind, handler, n: 1 });
    else known.n += 1;
  }

  all(): HandlerCount<K>[] {
    return [...this.counted.values()].map((one) => ({ ...one }));
  }
}

/** Runs `work` at most once at a time; requests that come meanwhile share the next run. */
export class Coalescer<T> {
  /** End of the last requested run. */
  private last: Promise<void> = Promise.resolve();
  private next: { items: Set<T>; done: Promise<void> } | null = null;

  constructor(private readonly work: (items: readonly T[]) => Promise<void>) {}

  /** Resolves when a run that began after this call has ended; rejects as that run does. */
  add(items: Iterable<T>): Promise<void> {
    const all = [...items];
    if (all.length === 0) return Promise.resolve();
    this.next ??= this.plan();
    for (const item of all) this.next.items.add(item);
    return this.next.done;
  }

  /** Resolves when all runs requested so far have ended. */
  idle(): Promise<void> {
    return this.last.catch(() => undefined);
  }

  private plan(): { items: Set<T>; done: Promise<void> } {
    const items = new Set<T>();
    const done = this.idle().then(() => {
      this.next = null;
      return this.work([...items]);
    });
    this.last = done;
    return { items, done };
  }
}

interface Planned<T> {
  items: Set<T>;
  done: Promise<void>;
  /** Does not wait for the end of a rest. */
  isUrgent: boolean;
}

/** Runs `work` at most once at a time; requests that come meanwhile share the next run. */
export class Coalescer<T> {
  /** End of the last requested run. */
  private last: Promise<void> = Promise.resolve();
  private next: Planned<T> | null = null;
  /** Runs that are planned or in progress. */
  private requested = 0;
  private restsUntil = -Infinity;
  /** Ends a rest. */
  private hurry: () => void = () => undefined;

  /** `restMs`: how long a run that took so long is followed by none, unless one is urgent. */
  constructor(
    private readonly work: (items: readonly T[]) => Promise<void>,
    private readonly restMs: (tookMs: number) => number = () => 0,
  ) {}

  /** Resolves when a run that began after this call has ended; rejects as that run does. */
  add(items: Iterable<T>): Promise<void> {
    const done = this.addLater(items);
    if (this.next !== null) this.next.isUrgent = true;
    this.hurry();
    return done;
  }

  /** The same, but the run waits until the last one's rest has ended. */
  addLater(items: Iterable<T>): Promise<void> {
    const all = [...items];
    if (all.length === 0) return Promise.resolve();
    this.next ??= this.plan();
    for (const item of all) this.next.items.add(item);
    return this.next.done;
  }

  /** Says whether a run is planned or in progress. */
  get isBusy(): boolean {
    return this.requested > 0;
  }

  /** Resolves when all runs requested so far have ended. */
  idle(): Promise<void> {
    return this.last.catch(() => undefined);
  }

  private plan(): Planned<T> {
    const items = new Set<T>();
    this.requested++;
    const done = this.idle().then(async () => {
      if (!planned.isUrgent && performance.now() < this.restsUntil) await this.rest();
      this.next = null;
      const startedAt = performance.now();
      try {
        await this.work([...items]);
      } finally {
        this.requested--;
        const endedAt = performance.now();
        this.restsUntil = endedAt + this.restMs(endedAt - startedAt);
      }
    });
    this.last = done;
    const planned: Planned<T> = { items, done, isUrgent: false };
    return planned;
  }

  private rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.restsUntil - performance.now());
      this.hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

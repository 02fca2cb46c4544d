/** One run of `work` in flight at a time; what is asked for meanwhile shares the next one. */
export class Gather<T> {
  private waiting = new Set<T>();
  private flight: Promise<void> | null = null;

  /** `work` never rejects. */
  constructor(private readonly work: (items: readonly T[]) => Promise<void>) {}

  /** Resolves when a run that began after this call has ended. */
  async add(items: Iterable<T>): Promise<void> {
    for (const item of items) this.waiting.add(item);
    while (this.flight !== null) {
      await this.flight;
      if (this.waiting.size === 0) return; // ours were in the run that another one began
    }
    if (this.waiting.size === 0) return;
    const all = [...this.waiting];
    this.waiting.clear();
    this.flight = this.work(all).finally(() => (this.flight = null));
    await this.flight;
  }
}

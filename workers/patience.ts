/** First repeat of a wake that seems not to have helped, doubled each time up to the last. */
const FIRST_MS = 10_000;
const LONGEST_MS = 300_000;

/**
 * How often something that stays due is woken: at once, then less and less. A workflow that cannot get on (its activity has no worker)
 * would otherwise gather a signal a round until its history is full.
 */
export class Patience {
  private readonly tries = new Map<string, { notBefore: number; waitMs: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** True: try now. `due` false: it got on, the next time begins anew. */
  mayTry(key: string, due: boolean): boolean {
    if (!due) {
      this.tries.delete(key);
      return false;
    }
    const last = this.tries.get(key);
    if (last !== undefined && this.now() < last.notBefore) return false;
    const waitMs = last === undefined ? FIRST_MS : Math.min(LONGEST_MS, last.waitMs * 2);
    this.tries.set(key, { notBefore: this.now() + waitMs, waitMs });
    return true;
  }

  /** Forgets the keys that are due no longer. */
  keep(isDue: (key: string) => boolean): void {
    for (const key of this.tries.keys()) if (!isDue(key)) this.tries.delete(key);
  }
}

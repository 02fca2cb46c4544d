import type { WireItem } from './trial';

/** What a fake downstream has applied: effects per mark, once per idempotency key. */
export class Ledger {
  private readonly effects = new Map<string, number>();
  private readonly keys = new Set<string>();

  /** Applies an item, unless its key was applied before. */
  apply({ mark, key }: WireItem): void {
    if (key !== undefined) {
      if (this.keys.has(key)) return;
      this.keys.add(key);
    }
    this.effects.set(mark, this.of(mark) + 1);
  }

  /** Returns how often the task with this mark was applied. */
  of(mark: string): number {
    return this.effects.get(mark) ?? 0;
  }
}

/**
 * Picks what is seen again and again: first when it has been seen for `firstMs`, then every
 * `againMs`. What was not seen once is forgotten.
 */
export class LongSeen {
  private dueAt = new Map<string, number>();

  constructor(
    private readonly firstMs: number,
    private readonly againMs: number,
  ) {}

  /** Returns those of `ids` that are due. */
  see(ids: readonly string[], nowMs: number): string[] {
    const before = this.dueAt;
    this.dueAt = new Map(ids.map((id) => [id, before.get(id) ?? nowMs + this.firstMs]));
    const due = ids.filter((id) => this.dueAt.get(id)! <= nowMs);
    for (const id of due) this.dueAt.set(id, nowMs + this.againMs);
    return due;
  }
}

/**
 * An at-least-once queue, as SQS is: a message that was received and not deleted within the
 * visibility timeout is delivered again, and now and then one is delivered twice for no reason at
 * all. In memory; what it holds are item ids.
 */
export class Queue {
  delivered = 0;
  redelivered = 0;
  private readonly ready: string[] = [];
  private readonly taken = new Map<number, { ids: string[]; until: number }>();
  private receipts = 0;
  private isClosed = false;

  constructor(
    private readonly visibilityMs: number,
    private readonly random: () => number,
    private readonly twiceShare: number,
  ) {}

  push(ids: Iterable<string>): void {
    for (const id of ids) this.ready.push(id);
  }

  /** No more will be pushed. */
  close(): void {
    this.isClosed = true;
  }
  get isDone(): boolean {
    return this.isClosed && this.ready.length === 0 && this.taken.size === 0;
  }
  get waiting(): number {
    return this.ready.length;
  }

  /** At most `max` messages under one receipt. */
  receive(max: number, now: number): { receipt: number; ids: string[]; done: boolean } {
    for (const [receipt, { ids, until }] of this.taken)
      if (until <= now) {
        this.taken.delete(receipt);
        this.redelivered += ids.length;
        this.push(ids);
      }
    const ids = this.ready.splice(Math.max(0, this.ready.length - max), max);
    const receipt = ++this.receipts;
    if (ids.length > 0) this.taken.set(receipt, { ids, until: now + this.visibilityMs });
    this.delivered += ids.length;
    return { receipt, ids, done: this.isDone };
  }

  delete(receipt: number): void {
    const entry = this.taken.get(receipt);
    this.taken.delete(receipt);
    if (entry === undefined || this.random() >= this.twiceShare) return;
    this.redelivered += entry.ids.length;
    this.push(entry.ids);
  }
}

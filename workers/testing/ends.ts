/** What was opened one after the other, to be closed in the reverse order. */
export class Ends {
  private readonly closers: (() => Promise<unknown>)[] = [];

  /** Keeps how `opened` is closed, and returns it. */
  later<T>(opened: T, close: (opened: T) => Promise<unknown>): T {
    this.closers.push(() => close(opened));
    return opened;
  }

  /** Closes all, also after one that fails; rejects with the first failure. May be called again. */
  async end(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.closers.splice(0).reverse()) await close().catch((error: unknown) => failures.push(error));
    if (failures.length > 0) throw failures[0];
  }
}

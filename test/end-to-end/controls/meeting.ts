/**
 * Longer than any rate or linger of a test keeps one of them, and than the start of several hundred
 * runs takes: all handlers start at once, and on a starved machine one of two leaders was 25 s
 * later than the other.
 */
const PATIENCE_MS = 120_000;

/** Calls of two targets that wait for each other: both are under way at once, or it is not met. */
export class Meeting {
  private readonly came = new Set<string>();
  private open: () => void = () => undefined;
  private readonly both = new Promise<void>((resolve) => (this.open = resolve));
  isMet = false;

  async of(target: string): Promise<void> {
    this.came.add(target);
    if (this.came.size === 2) {
      this.isMet ||= !this.isOver;
      this.open();
      return;
    }
    const patience = setTimeout(() => {
      this.isOver = true;
      this.open();
    }, PATIENCE_MS);
    await this.both;
    clearTimeout(patience);
  }
  private isOver = false;
}

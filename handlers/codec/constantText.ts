/** When an encoded text is encoded anew: the codec's keys may change while the process runs. */
const ANEW_MS = 3_600_000;

/**
 * A text of the program, encoded beside the work that needs it, which a codec that hangs would hold
 * up, and kept. One that is older than an hour is used once more, one of two hours no more.
 */
export class ConstantText {
  private sealed: string | null = null;
  private sealedAt = 0;
  private failure: Error | null = null;
  private isAsking = false;

  constructor(
    private readonly seal: () => Promise<string>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /**
   * Returns it as it is encoded; null: the codec has not answered yet. Throws why it could not be
   * encoded last, until it can.
   */
  get(): string | null {
    const ageMs = this.now() - this.sealedAt;
    if (ageMs >= 2 * ANEW_MS) this.sealed = null;
    if ((this.sealed === null || ageMs >= ANEW_MS) && !this.isAsking) void this.ask();
    if (this.sealed === null && this.failure !== null) throw this.failure;
    return this.sealed;
  }

  private async ask(): Promise<void> {
    this.isAsking = true;
    try {
      this.sealed = await this.seal();
      this.sealedAt = this.now();
      this.failure = null;
    } catch (error) {
      this.failure = error as Error;
    } finally {
      this.isAsking = false;
    }
  }
}

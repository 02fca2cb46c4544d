/**
 * Ends what was started, the last first; what fails to end is told and stops nothing else from
 * ending.
 */
export class Cleanup {
  private readonly steps: { what: string; end: () => Promise<void> }[] = [];
  add(what: string, end: () => Promise<void>): void {
    this.steps.push({ what, end });
  }
  async run(): Promise<void> {
    for (let step = this.steps.pop(); step !== undefined; step = this.steps.pop()) {
      const { what, end } = step;
      await end().catch((error: unknown) => process.stderr.write(`${what} could not be ended: ${String(error)}\n`));
    }
  }
}

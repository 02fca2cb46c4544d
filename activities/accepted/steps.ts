type Step = 'taking it' | 'reading its results' | 'looking it up' | 'settling it';

/** What is being done with a batch, and for how long. */
export interface ShownStep {
  batch: number;
  step: Step;
  forMs: number;
}

/**
 * Knows what is being done with batches, and when it last got on: the heartbeat and the store tell
 * it, since a read may hang.
 */
export class Steps {
  private readonly at = new Map<number, { step: Step; since: number; gotOnAt: number }>();

  begin({ id }: { id: number }, step: Step): void {
    const since = performance.now();
    this.at.set(id, { step, since, gotOnAt: since });
  }

  /** Notes that a result came. */
  goesOn({ id }: { id: number }): void {
    const one = this.at.get(id);
    if (one !== undefined) one.gotOnAt = performance.now();
  }

  /**
   * Returns how long ago a result of the batch came, in ms; 0: it is not being read, but waits for
   * its turn, or is being settled.
   */
  quietMs(id: number): number {
    const one = this.at.get(id);
    return one?.step === 'reading its results' ? performance.now() - one.gotOnAt : 0;
  }

  end({ id }: { id: number }): void {
    this.at.delete(id);
  }

  shown(): ShownStep[] {
    const now = performance.now();
    return [...this.at].map(([batch, { step, since }]) => ({ batch, step, forMs: Math.round(now - since) }));
  }
}

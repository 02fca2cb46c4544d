type Step = 'taking it' | 'reading its results' | 'looking it up' | 'settling it';

/** What is being done with a batch, and for how long. */
export interface ShownStep {
  batch: number;
  step: Step;
  forMs: number;
}

/** Knows what is being done with batches: a heartbeat tells it, since a read may hang. */
export class Steps {
  private readonly at = new Map<number, { step: Step; since: number }>();

  begin({ id }: { id: number }, step: Step): void {
    this.at.set(id, { step, since: performance.now() });
  }

  end({ id }: { id: number }): void {
    this.at.delete(id);
  }

  shown(): ShownStep[] {
    const now = performance.now();
    return [...this.at].map(([batch, { step, since }]) => ({ batch, step, forMs: Math.round(now - since) }));
  }
}

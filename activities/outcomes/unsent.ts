import type { FailedUnsent } from './told';
import { MOST_NAMED } from './tally';

/**
 * Sums batches of lanes that failed without a call by handler: however many a turn fails, they are
 * one line of the log for each handler.
 */
export const failedBatches = (failed: readonly { handler: string; batch: number; tasks: number }[]): FailedUnsent[] => {
  const byHandler = new Map<string, FailedUnsent & { batches: number; firstBatches: number[] }>();
  for (const { handler, batch, tasks } of failed) {
    let one = byHandler.get(handler);
    if (one === undefined)
      byHandler.set(handler, (one = { handler, why: 'batch', tasks: 0, batches: 0, firstBatches: [] }));
    one.tasks += tasks;
    one.batches++;
    if (one.firstBatches.length < MOST_NAMED) one.firstBatches.push(batch);
  }
  return [...byHandler.values()];
};

/** Collects tasks that failed without a call, by handler: how many, and the first of them. */
export class UnsentFailures {
  private readonly byHandler = new Map<
    string,
    FailedUnsent & { first: { task: string; state: 'failed'; error: string }[] }
  >();

  constructor(private readonly why: FailedUnsent['why']) {}

  /** `error`: as stored, so encoded with a payload codec. */
  add({ handler, id, error }: { handler: string; id: string; error: string }): void {
    let one = this.byHandler.get(handler);
    if (one === undefined) this.byHandler.set(handler, (one = { handler, why: this.why, tasks: 0, first: [] }));
    one.tasks++;
    if (one.first.length < MOST_NAMED) one.first.push({ task: id, state: 'failed', error });
  }

  all(): FailedUnsent[] {
    return [...this.byHandler.values()];
  }
}

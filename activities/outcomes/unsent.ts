import type { FailedUnsent } from './told';
import { MOST_NAMED } from './tally';

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

import type { Batch, HandlerOptions, ItemResult, ReferenceStatus, SubmitAnswer } from '../../handlers';

/** A downstream that accepts batches and ends them later, as the cargo of their first task says. */

/** What becomes of an accepted batch. */
export interface Later {
  /** How many status requests find it pending. */
  pending: number;
  then: 'done' | 'expired' | 'failed' | 'lost' | 'pending';
  /** Results that the answer leaves out, from the end. */
  missing: number;
}

interface Accepted {
  items: ItemResult[];
  later: Later;
  asked: number;
}

/** Polls at times of no other kind: what two of one instant make of each other is chance. */
const EVERY_MS = 1_777;
const DEADLINE_MS = 7_919;

export class AsynchronousDownstream<P> {
  private readonly accepted = new Map<string, Accepted>();

  constructor(private readonly laterOf: (batch: Batch<P>) => Later) {}

  accept(batch: Batch<P>, items: ItemResult[]): SubmitAnswer {
    const reference = `${batch.id}/${batch.attempt}`;
    this.accepted.set(reference, { items, later: this.laterOf(batch), asked: 0 });
    return { status: 'accepted', reference };
  }

  /** The batch that has been open for longest, with its results; it is open no more. */
  takeOldest(): { reference: string; results: ItemResult[] } | null {
    const [oldest] = this.accepted;
    if (oldest === undefined) return null;
    const [reference, one] = oldest;
    this.accepted.delete(reference);
    return { reference, results: one.items };
  }

  get options(): Pick<HandlerOptions<P>, 'status' | 'results' | 'poll'> {
    return {
      poll: { everyMs: EVERY_MS, deadlineMs: DEADLINE_MS },
      status: async (references) => references.map((reference) => this.statusOf(reference)),
      results: async (reference) => {
        const { items, later } = this.accepted.get(reference)!;
        return items.slice(0, Math.max(0, items.length - later.missing));
      },
    };
  }

  private statusOf(reference: string): ReferenceStatus {
    const one = this.accepted.get(reference);
    if (one === undefined) return { reference, status: 'pending' }; // it was completed from outside
    if (one.asked++ < one.later.pending) return { reference, status: 'pending' };
    return { reference, status: one.later.then, error: one.later.then };
  }
}

import { FLUSH_REASONS } from '../../workflows/planning/states';
import { addCounts, bucketOf } from '../../workflows/planning/outcomes/histogram';
import type { CountedEnd, CountedOutcome } from '../../workflows/planning/outcomes/kinds';
import { CALL_OUTCOMES, ENDS, LATENCY_MS, SIZES } from '../../workflows/planning/outcomes/kinds';
import type { NewOutcomes } from '../../postgres/outcomes/minute';

/** What is known of an ended call. */
interface EndedCall {
  handler: string;
  outcome: CountedOutcome;
  ms: number;
  tasks: number;
  /** Why its batch was closed, if this is the first call of it. */
  reason: number | null;
}

const REASONS = Math.max(...Object.values(FLUSH_REASONS)) + 1;
const zeros = (n: number): number[] => Array.from({ length: n }, () => 0);

/** Counts of this process that are not in the store yet, by handler. */
export class OutcomeMinutes {
  private counted = new Map<string, NewOutcomes>();

  called({ handler, outcome, ms, tasks, reason }: EndedCall): void {
    const of = this.of(handler);
    of.calls[CALL_OUTCOMES.indexOf(outcome)]!++;
    of.latency[bucketOf(LATENCY_MS, ms)]!++;
    of.sizes[bucketOf(SIZES, tasks)]!++;
    if (reason !== null) of.reasons[reason]!++;
    of.tasks += tasks;
    of.call_ms += ms;
  }

  ended(handler: string, counts: ReadonlyMap<CountedEnd, number>): void {
    const { ends } = this.of(handler);
    for (const [end, n] of counts) ends[ENDS.indexOf(end)]! += n;
  }

  /** Returns the counts, which begin anew. */
  take(): NewOutcomes[] {
    const taken = [...this.counted.values()];
    this.counted = new Map();
    return taken;
  }

  /** Takes counts back that were not written. */
  giveBack(rows: readonly NewOutcomes[]): void {
    for (const row of rows) {
      const of = this.of(row.handler);
      for (const list of ['calls', 'ends', 'latency', 'sizes', 'reasons'] as const)
        of[list] = addCounts(of[list], row[list]);
      of.tasks += row.tasks;
      of.call_ms += row.call_ms;
    }
  }

  private of(handler: string): NewOutcomes {
    let of = this.counted.get(handler);
    if (of === undefined) {
      of = {
        handler,
        calls: zeros(CALL_OUTCOMES.length),
        ends: zeros(ENDS.length),
        latency: zeros(LATENCY_MS.length + 1),
        sizes: zeros(SIZES.length + 1),
        reasons: zeros(REASONS),
        tasks: 0,
        call_ms: 0,
      };
      this.counted.set(handler, of);
    }
    return of;
  }
}

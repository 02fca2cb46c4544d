import type { CountedEnd } from '../../workflows/planning/outcomes/kinds';
import type { MemberEnd } from '../../workflows/planning/calls/plans';

/** A task that an operator may have to look at. */
export interface BadEnd {
  task: string;
  state: 'failed' | 'dead' | 'unknown';
  error: string | null;
}

/** Most bad ends that a log line names. */
export const MOST_NAMED = 10;

/** Ends of the tasks of one settlement. */
export class Tally {
  readonly counts = new Map<CountedEnd, number>();
  /** The first of them that failed, died or have an unknown outcome. */
  readonly bad: BadEnd[] = [];

  /** `rest`: places of members that share `state`; `ends`: those of others. */
  add(
    members: readonly { id: string }[],
    rest: readonly number[],
    ends: readonly MemberEnd[],
    state: 'succeeded' | 'failed' | 'unknown',
    error: string | null,
  ): void {
    this.count(state, rest.length);
    if (state !== 'succeeded') for (const index of rest.slice(0, MOST_NAMED)) this.name(members, index, state, error);
    for (const end of ends) {
      this.count(end.to === 'retry' ? 'retried' : end.to, 1);
      if (end.to === 'failed' || end.to === 'dead' || end.to === 'unknown')
        this.name(members, end.index, end.to, end.error);
    }
  }

  count(end: CountedEnd, n: number): void {
    if (n > 0) this.counts.set(end, (this.counts.get(end) ?? 0) + n);
  }

  private name(members: readonly { id: string }[], index: number, state: BadEnd['state'], error: string | null): void {
    if (this.bad.length < MOST_NAMED) this.bad.push({ task: members[index]!.id, state, error });
  }
}

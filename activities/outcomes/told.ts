import type { CountedOutcome } from '../../workflows/planning/outcomes/kinds';
import type { BadEnd, Tally } from './tally';

/** A call, as it is counted and logged. */
export interface ToldCall {
  batch: { id: number; handler: string; target: string; reason: number };
  attempt: number;
  members: readonly { id: string }[];
}

/** Tasks of a handler that failed without a call. */
export interface FailedUnsent {
  handler: string;
  /** What kept them from being sent. */
  why: 'expired' | 'task' | 'batch';
  tasks: number;
  /** The first of them, at most `MOST_NAMED`; none where `firstBatches` say which. */
  first?: readonly BadEnd[];
  /** How many batches of lanes they were in. */
  batches?: number;
  /** The first of these, at most `MOST_NAMED`. */
  firstBatches?: readonly number[];
}

/** Is told what became of calls. */
export interface OutcomesTold {
  /** A call has ended; what it came to is not recorded yet. */
  called(call: ToldCall, outcome: { kind: CountedOutcome }, ms: number): void;
  /** The outcome of a call is committed, if it was `written`. */
  settled(call: ToldCall, settled: { written: boolean; kind: string }, tally: Tally): void;
  /** Tasks have failed without a call; it is committed. */
  failedUnsent(failed: FailedUnsent): void;
  /** Tasks were cancelled by a claim, since a later one of their `coalesceBy` key is sent. */
  superseded(handler: string, tasks: number): void;
}

import type { CountedOutcome } from '../../workflows/planning/outcomes/kinds';
import type { Tally } from './tally';

/** A call, as it is counted and logged. */
export interface ToldCall {
  batch: { id: number; handler: string; target: string; reason: number };
  attempt: number;
  members: readonly { id: string }[];
}

/** Is told what became of calls. */
export interface OutcomesTold {
  /** A call has ended; what it came to is not recorded yet. */
  called(call: ToldCall, outcome: { kind: CountedOutcome }, ms: number): void;
  /** The outcome of a call is committed, if it was `written`. */
  settled(call: ToldCall, settled: { written: boolean; kind: string }, tally: Tally): void;
  /** Tasks have failed without a call, since a task that they depend on did. */
  failedUnsent(handler: string, tasks: number): void;
  /** Tasks were cancelled by a claim, since a later one of their `coalesceBy` key is sent. */
  superseded(handler: string, tasks: number): void;
}

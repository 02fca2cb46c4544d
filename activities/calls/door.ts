import type { CallOutcome, Settlement } from '../../workflows/planning/calls/plans';

/**
 * The outcome of a call, or: looked up too early to believe that it is absent, look again later.
 */
export type CallEnd = CallOutcome | { kind: 'look-again'; inMs: number };

/** The end of a call that was made: its payloads could be read. */
export type MadeEnd = Exclude<CallEnd, { kind: 'unreadable' }>;

/** An answer that may need no decision: applied, or accepted. */
export type PlainOutcome = Extract<CallOutcome, { kind: 'results' | 'accepted' }>;

export interface LookAgain {
  inMs: number;
  /** It was looked up, without a clear answer. */
  counts: boolean;
  error: string;
}

/** The way by which an outcome is written. */
export type Door =
  /** In a statement that many batches share: there is nothing to decide. */
  | { to: 'share'; outcome: PlainOutcome }
  /** Not settled: its outcome stays unknown until it is looked up again. */
  | { to: 'lookAgain'; look: LookAgain }
  | Conclude;

/** Decided under locks, and written in the same transaction. */
export interface Conclude {
  to: 'conclude';
  outcome: CallOutcome;
  /** Only an operator may decide its unknown outcome, for this reason. */
  park?: string;
  /** Once written, it gives back what back pressure took. */
  recovers: boolean;
}

/** A settlement as it is written for this kind of batch. */
export type Decision =
  | Exclude<Settlement, { kind: 'wait' | 'resend' | 'halt' }>
  /** `keep`: its dispatch waits and tries it again. */
  | (Extract<Settlement, { kind: 'wait' | 'resend' }> & { keep: boolean })
  /** `dissolves`: the tasks go back to the queue; otherwise the batch waits as it is. */
  | (Extract<Settlement, { kind: 'halt' }> & { dissolves: boolean });

/** A part of a batch that became a batch, and its present state. */
export interface Part {
  batchId: number;
  as: 'half' | 'retry' | 'unknown' | 'parked';
  inMs: number | null;
  error?: string;
}

/** The other half of a split, locked. */
export interface Half {
  id: number;
  attempt: number;
  state: number;
  refused: boolean;
  /** In a lane: the batch comes before this half, so that this half decides for both. */
  leads?: boolean;
}

/** Look-ups of an unknown outcome without a clear answer, and what made it unknown. */
export interface LookUps {
  lookUps: number;
  error: string | null;
}
export const NO_LOOK_UPS: LookUps = { lookUps: 0, error: null };

import type { CallOutcome } from '../../workflows/planning/calls/plans';

/** What is done in place of a call whose payloads cannot be given to its handler. */
export type Unsent = Extract<CallOutcome, { kind: 'later' | 'unreadable' }>;

/** A member whose payload cannot be given to the handler. */
export interface Failed {
  place: number;
  /** What is said of "the payload of task X", such as "cannot be decoded: ...". */
  why: string;
  /** Trying again cannot help. */
  isLasting?: boolean;
}

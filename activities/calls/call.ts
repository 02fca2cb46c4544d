import type { CarriedBatch, MemberTask } from '../../postgres/calls/batch';
import type { Fence } from '../../postgres/calls/mark';
import type { CompletionNote } from '../../postgres/accepted/completion';
import type { Settlement } from '../../workflows/planning/calls/plans';
import type { Handler } from '../../handlers/types';
import type { ResultPages } from './resultPages';

/** A call that was made, or concluded, and what it needs to be written. */
export interface Call {
  batch: CarriedBatch;
  handler: Handler;
  members: readonly MemberTask[];
  attempt: number;
  /** The partition under which it is made, and its epoch; null: in none. */
  fence: Fence | null;
  pages: ResultPages;
  /** Looked up and not there: it may be sent again, whatever `onUnknown` says (H3). */
  absent: boolean;
  /** Told from outside (H7): kept with what it settled. */
  completion?: CompletionNote;
  /** Where its handler threw, if it did; of a call of unknown outcome. */
  stack?: string | null;
  /**
   * In a lane: nobody but an operator may decide its unknown outcome, with this reason (C28, C9).
   */
  park?: string;
  /** In a lane: it passed its deadline once more while it was pending (C9). */
  overdue?: boolean;
}

/** What the submission has to do after a settlement was written. */
export interface Settled {
  /** False: a newer attempt exists, or the batch is over; nothing was written. */
  written: boolean;
  kind: Settlement['kind'];
  /** Targets whose work became eligible: to be rung. */
  ring: boolean;
  /** The submission itself waits this long and tries the same batch again. */
  againInMs: number | null;
  accepted: boolean;
  notices: boolean;
  /** Lanes that are worth a look now: to be rung. */
  lanes: number[];
}

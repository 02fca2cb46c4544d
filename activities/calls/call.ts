import type { CarriedBatch } from '../../postgres/calls/batch';
import type { MemberTask } from '../../postgres/calls/members';
import type { Fence } from '../../postgres/calls/mark';
import type { CompletionNote } from '../../postgres/accepted/completion';
import type { Client, Pool } from '../../postgres/pool';
import type { CallOutcome, MemberEnd, Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import type { Sealer } from '../../handlers/codec/sealer';
import type { BatchDependency } from '../../handlers/contract';
import type { EndedTasks } from '../../handlers/hooks/types';
import type { Handler } from '../../handlers/types';
import type { Conclude, Decision, Door, Half, LookAgain, LookUps, Part, PlainOutcome } from './door';
import type { EndsTold } from '../hooks/endsTold';
import type { OutcomesTold } from '../outcomes/told';
import type { Tally } from '../outcomes/tally';
import type { ResultPages } from './resultPages';

/** A call that was made, or concluded, and what is needed to write its outcome. */
export interface Call {
  batch: CarriedBatch;
  handler: Handler;
  /** The home of its batch, which says how its outcome is written: chosen when the call is made. */
  home: Home;
  members: readonly MemberTask[];
  attempt: number;
  /** When the batch's first call was marked, by `performance.now()`: its key is in use since. */
  firstCallAtMs: number;
  /** When this call began, which is the batch's last one. */
  calledAtMs: number;
  /** The partition under which it is made, and its epoch; null: none. */
  fence: Fence | null;
  /** Dependencies that are handed to the downstream. */
  dependsOn: readonly BatchDependency[];
  pages: ResultPages;
  /** True if a look-up did not find it: it may be sent again, regardless of `onUnknown`. */
  absent: boolean;
  /** The completion that reported the outcome, stored with the batch that it settles. */
  completion?: CompletionNote;
  /** Where its handler threw, if it did; for a call of unknown outcome. */
  stack?: string | null;
  /** Ends of tasks in the settlement that is being written, for `taskEnded`. */
  ended?: EndedTasks[];
  /** The same, counted. */
  tally?: Tally;
  /** In a lane: only an operator may decide its unknown outcome, for this reason. */
  park?: string;
  /** In a lane: it passed its deadline once more while it was pending. */
  overdue?: boolean;
}

/**
 * Where a batch waits between its calls, a leader's queue or a lane, and so what a settlement means
 * beyond the batch itself. Everything that differs between the two is here.
 */
export interface Home extends Doors, Steps {
  readonly pool: Pool;
  /** Are told of ends. */
  readonly hooks: EndsTold | undefined;
  /**
   * Counts and logs what became of calls. Undefined: nothing here does, so their ends are noted in
   * the store by the transactions that make them.
   */
  readonly outcomes: OutcomesTold | undefined;
  readonly rules: HomeRules;
  /** What encodes the values of callers; null: nothing does. */
  readonly sealer: Sealer | null;
  /** Returns a number uniform in [0, 1), for jitter. */
  readonly random: () => number;
  /** Reads what `doorOf` needs to know about a call of unknown outcome. */
  recall(call: Call): Promise<LookUps>;
  /** Notes that the call ended without an outcome and is about to be looked up. */
  lookingUp(batch: CarriedBatch): Promise<void>;
}

/** What a home tells of outcomes, and how it encodes what it stores; each may be left out. */
export interface HomeDeps {
  hooks?: EndsTold | undefined;
  outcomes?: OutcomesTold | undefined;
  sealer?: Sealer | null;
}

/** The ways to write an outcome; `settle` takes the one that `doorOf` names. */
export interface Doors {
  share(call: Call, outcome: PlainOutcome): Promise<Settled>;
  lookAgain(call: Call, look: LookAgain): Promise<Settled>;
  conclude(call: Call, door: Conclude): Promise<Settled>;
}

/** What a home adds to the transaction of `conclude`. */
interface Steps {
  /** Locks the half that decides with this one; before the batch. */
  lockHalf(client: Client, batch: CarriedBatch): Promise<Half | null>;
  /** Takes members that are tried again out of the batch, each alone or as a part. */
  retry(client: Client, call: Call, back: readonly MemberEnd[]): Promise<Part[]>;
  /** Runs after the batch is written. Returns lanes to be rung. */
  after(client: Client, call: Call, decision: Decision, parts: readonly Part[]): Promise<number[]>;
  /** Decides the refused half by the outcome of this one. */
  concludeHalf(
    client: Client,
    call: Call,
    half: Half,
    mine: Decision,
  ): Promise<{ hasNotifications: boolean; lanes: number[] }>;
}

/** The decisions for the batches of a home: pure. */
export interface HomeRules {
  /** True if its target's queue is waiting for the batch's weight or slot. */
  holdsTarget: boolean;
  doorOf(call: Call, outcome: CallOutcome, known: LookUps): Door;
  siblingOf(batch: CarriedBatch, half: Half | null): SettlementContext['sibling'];
  adjust(settlement: Settlement, call: Call, outcome: CallOutcome): Decision;
}

/** What the dispatch has to do after a settlement was written. */
export interface Settled {
  /** False: a newer attempt exists, or the batch has ended; nothing was written. */
  written: boolean;
  kind: Settlement['kind'];
  /** Targets whose work became eligible are to be rung. */
  ring: boolean;
  /** The dispatch itself waits this long and tries the same batch again. */
  againInMs: number | null;
  accepted: boolean;
  hasNotifications: boolean;
  /** Tasks may have waited for some that ended: they are to be released. */
  awaited: boolean;
  /** Lanes that are ready now: to be rung. */
  lanes: number[];
}

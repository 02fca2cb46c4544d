import type { TurnAnswer, TurnInput } from '../../workflows/messages';
import type { ClaimPlan } from '../../workflows/planning/grouping/claim';
import { decideNext } from '../../workflows/planning/grouping/next';
import { FLUSH_REASONS, LEADER_STATES } from '../../workflows/planning/states';
import { readNextDue } from '../../postgres/grouping/claim';
import type { LockedLeader } from '../../postgres/grouping/leader';
import { publishTurn } from '../../postgres/grouping/leader';
import type { SupersededTask } from '../../postgres/grouping/superseded';
import type { Client } from '../../postgres/pool';

/** The result of a turn, for the workflow and for what follows the turn's commit. */
export interface Turn {
  answer: TurnAnswer;
  touched: number[];
  handlerId: number;
  wantsSlots: boolean;
  /** Tasks that it has ended; absent: it wrote nothing. */
  unsent?: Unsent;
}

export interface Claimed {
  plan: ClaimPlan | null;
  touched: number[];
  dispatch: TurnAnswer['dispatch'];
  /** False: due work could not be looked at, for lack of slots. */
  slotsLeft: boolean;
  /** True: no node holds the leader's partition, so nothing was looked at. */
  unserved?: boolean;
  /** Absent: nothing was claimed. */
  unsent?: Unsent;
}

/** Tasks of a handler that a claim has ended, since they are not sent. */
interface Unsent {
  handler: string;
  ended: readonly SupersededTask[];
}

/**
 * Writes what the leader does next. After publishing waiting or idle, `claimBatches` looks again
 * after the commit.
 */
export const publish = async (
  client: Client,
  leaseMs: number,
  leader: LockedLeader,
  input: TurnInput,
  epoch: number,
  liveBefore: number,
  claimed: Claimed,
  touched: readonly number[],
): Promise<Pick<Turn, 'answer' | 'wantsSlots'>> => {
  const due = await readNextDue(client, input.leaderId);
  const live = liveBefore + (claimed.dispatch === null ? 0 : 1);
  const next = decideNext(leader, claimed, due.dueAtMs, live, input.mayClaim, leader.answer as TurnAnswer | null);
  const wakeAtMs = next.state === 'waiting' ? leader.nowMs + next.inMs : null;
  const lastReason = claimed.plan?.cut.at(-1)?.reason ?? null;
  const answer: TurnAnswer = {
    deposed: false,
    epoch,
    dispatch: claimed.dispatch,
    again: next.again,
    next: next.state,
    dueInMs: next.timer ? Math.max(1, Math.ceil(next.inMs)) : null,
    lastReason,
    heldBy: next.heldBy,
  };
  await publishTurn(client, {
    leaderId: input.leaderId,
    runId: input.runId,
    runStartedAtMs: input.runStartedAtMs,
    epoch,
    turn: input.turn,
    state: LEADER_STATES[next.state],
    wakeAtMs,
    blocked: next.blocked,
    wantsSlots: next.wantsSlots,
    answer: { ...answer, touched },
    leaseMs,
    lastReason: lastReason === null ? null : FLUSH_REASONS[lastReason],
  });
  return { answer, wantsSlots: next.wantsSlots };
};

export const foreign = (): Turn => {
  const turn = deposed({ epoch: 0, handlerId: 0 });
  return { ...turn, answer: { ...turn.answer, deposed: false, foreign: true } };
};

export const deposed = (leader: Pick<LockedLeader, 'epoch' | 'handlerId'>): Turn => ({
  answer: {
    deposed: true,
    epoch: leader.epoch,
    dispatch: null,
    again: false,
    next: 'idle',
    dueInMs: null,
    lastReason: null,
    heldBy: null,
  },
  touched: [],
  handlerId: leader.handlerId,
  wantsSlots: false,
});

/**
 * Returns the targets that the last turn touched: the look that follows its commit may never have
 * run.
 */
export const touchedBy = (leader: Pick<LockedLeader, 'answer'>): number[] =>
  (leader.answer as { touched?: number[] } | null)?.touched ?? [];

/**
 * Handles a turn that ran already (its first execution's answer was lost): writes nothing and
 * returns the first answer, but the workflow is to take another turn at once. Several turns of one
 * workflow task run again when its close is rejected or its worker dies, and only the last one's
 * answer is kept: what the earlier ones claimed was never started, and that next turn, which does
 * not name it, adopts it.
 */
export const repeated = (leader: LockedLeader, input: TurnInput): Turn => {
  const { touched: _, ...last } = leader.answer as TurnAnswer & { touched?: number[] };
  const answer: TurnAnswer =
    input.turn === leader.turn
      ? { ...last, again: true }
      : { ...last, dispatch: null, again: true, next: 'working', dueInMs: null, heldBy: 'a repeated turn' };
  if (answer.dueInMs !== null)
    answer.dueInMs = Math.max(0, Math.ceil((leader.wakeAtMs ?? leader.nowMs) - leader.nowMs));
  return { answer, touched: touchedBy(leader), handlerId: leader.handlerId, wantsSlots: false };
};

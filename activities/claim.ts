import type { TurnAnswer, TurnInput } from '../workflows/contracts';
import { planClaim } from '../workflows/planning/claim';
import { decideNext } from '../workflows/planning/next';
import type { ClaimPlan } from '../workflows/planning/claim';
import { grantSlots } from '../workflows/planning/slots';
import { FLUSH_REASONS, LEADER_STATES } from '../workflows/planning/states';
import * as claim from '../postgres/claim';
import type { LockedLeader } from '../postgres/leader';
import { isDueEarlier, lockLeader, publishTurn, wakeBlockedLeaders } from '../postgres/leader';
import type { Client, Pool } from '../postgres/pool';
import { inTransaction } from '../postgres/pool';
import { withRetries } from '../postgres/errors';
import type { WokenLeader } from '../postgres/ring';
import { lowerDue, WAKE_LEASE_MS } from '../postgres/ring';

/** Most targets, batches and tasks of one claim: bounds its transaction and the time that its submission takes. */
const MAX_TARGETS = 512;
const MAX_BATCHES = 512;
const MAX_TASKS = 20_000;
/** Batches claimed ahead for each slot: small ones too keep it busy while the next claim is on its way. Full ones meet MAX_TASKS first. */
const BATCHES_PER_SLOT = 64;
/** Submissions in flight of one leader: slow calls in a few leave room for others (A18). */
export const MAX_DISPATCHES = 8;
/** dispatch.no = epoch * this + turn: never used twice by one leader. */
const TURNS_PER_EPOCH = 1_000_000;

export interface ClaimDeps {
  pool: Pool;
  leaseMs: number;
  /** Sends `signalWithStart` to leaders that another statement has already written as working. */
  wake: (leaders: readonly WokenLeader[]) => Promise<void>;
}

/**
 * One turn of a leader (DESIGN section 4.3): adopts orphans, cuts what is due, hands it to a submission, publishes what it waits for;
 * one transaction guarded by `(run, epoch, turn)`. Then, in new snapshots, the ring's half of the handshake: is something due earlier?
 */
export const claimBatches = async (deps: ClaimDeps, input: TurnInput): Promise<TurnAnswer> => {
  const turn = await withRetries(() => inTransaction(deps.pool, (client) => takeTurn(client, deps, input)));
  if (turn.answer.deposed) return turn.answer;
  // Whatever was committed while the claim ran saw the leader working: look for it now, in new snapshots (store.md R).
  if (turn.touched.length > 0) await lowerDue(deps.pool, turn.touched);
  if (turn.answer.next !== 'working' && (await isDueEarlier(deps.pool, input.leaderId))) turn.answer.again = true;
  if (turn.woken.length > 0) await deps.wake(turn.woken);
  return turn.answer;
};

interface Turn {
  answer: TurnAnswer;
  touched: number[];
  woken: WokenLeader[];
}

const takeTurn = async (client: Client, deps: ClaimDeps, input: TurnInput): Promise<Turn> => {
  const leader = await lockLeader(client, input.leaderId);
  if (leader === null) throw new Error(`leader ${input.leaderId}: not in the store`);
  const mine = leader.holder === input.runId;
  // A later run holds the row: this is a zombie of an ended one. (The workflow id is the lock: runs start one after another.)
  if (!mine && leader.runStartedAtMs !== null && leader.runStartedAtMs > input.runStartedAtMs) return deposed(leader);
  if (mine && input.turn <= leader.turn) return repeated(leader, input);
  const epoch = mine ? leader.epoch : leader.epoch + 1;

  const live = mine ? input.live : [];
  const adopted = await claim.adoptOrphans(client, input.leaderId, live);
  const released = await claim.releaseBusyTargets(client, input.leaderId);
  const claimed = await claimDue(client, leader, input, epoch, live.length);
  const touched = [...new Set([...adopted, ...released, ...claimed.touched])];
  const published = await publish(client, deps, leader, input, epoch, live.length, claimed, touched);
  // A freed slot is first offered to leaders that found none; woken after the commit.
  const woken =
    claimed.othersBlocked && claimed.slotsLeft
      ? await wakeBlockedLeaders(client, leader.handlerId, input.leaderId, WAKE_LEASE_MS)
      : [];
  return { answer: published, touched, woken };
};

interface Claimed {
  plan: ClaimPlan | null;
  touched: number[];
  dispatch: TurnAnswer['dispatch'];
  slotsLeft: boolean;
  othersBlocked: boolean;
}

const claimDue = async (
  client: Client,
  leader: LockedLeader,
  input: TurnInput,
  epoch: number,
  live: number,
): Promise<Claimed> => {
  const nothing: Claimed = { plan: null, touched: [], dispatch: null, slotsLeft: true, othersBlocked: false };
  if (leader.paused || leader.handlerHoldMs !== null || !input.mayClaim) return nothing;
  const tokens = await claim.readTokens(client, leader.handlerId, input.leaderId);
  const limit = Math.min(leader.perHandler, leader.allowed ?? leader.perHandler);
  const ask = { limit, leader: input.leaderId, activeLeaders: tokens.active, othersBlocked: tokens.blocked > 0 };
  const granted = live >= MAX_DISPATCHES ? 0 : grantSlots({ ...ask, granted: tokens.slots, wanted: limit });
  const others = { slotsLeft: granted > 0, othersBlocked: tokens.blocked > 0 };
  if (granted === 0) return { ...nothing, ...others };

  const maxBatches = Math.min(MAX_BATCHES, granted * BATCHES_PER_SLOT);
  // Every due target gives a batch: more of them would be read, and written back, for nothing.
  const targets = await claim.lockDueTargets(client, input.leaderId, Math.min(MAX_TARGETS, maxBatches));
  if (targets.length === 0) return { ...nothing, ...others };
  const ids = targets.map((target) => target.id);
  await claim.promoteDelayed(client, ids, MAX_TASKS);
  const limits = targets.map((target) => Math.min(MAX_TASKS, maxBatches * itemsOf(leader, target)) + 1);
  const floor = Math.max(...targets.map((target) => itemsOf(leader, target) + 1));
  const wanted = targets.map((_, i) => Math.max(limits[i]!, itemsOf(leader, targets[i]!) + 1));
  const total = Math.max(MAX_TASKS + MAX_TARGETS, floor);
  const heads = await claim.readQueueHeads(client, ids, wanted, total, leader.keyed);
  const seen = [...heads.values()].reduce((sum, head) => sum + head.length, 0);
  const lastSeen = [...heads.keys()].at(-1);
  const plan = planClaim(
    {
      limits: batchLimits(leader),
      perTarget: leader.perTarget,
      weightPerTarget: leader.weightPerTarget,
      weightPerHandler: leader.weightPerHandler,
      rates: leader.rates,
      paces: leader.paces,
      weightInFlight: tokens.weight,
      targets: targets.map((target, i) => {
        const head = heads.get(target.id) ?? [];
        // The statement's own limit may have cut the last head short, and left out those after it.
        const cutShort = seen >= total && (target.id === lastSeen || !heads.has(target.id));
        return { ...target, head, more: head.length >= wanted[i]! || cutShort };
      }),
      waiting: await claim.findReadyBatches(client, ids, maxBatches),
      maxBatches,
      maxTasks: MAX_TASKS,
    },
    leader.nowMs,
  );
  const count = plan.take.length + plan.cut.length;
  const slots = Math.min(granted, count);
  const dispatch =
    count === 0 ? null : { no: epoch * TURNS_PER_EPOCH + input.turn, batches: count, tasks: plan.tasks, slots };
  await writeClaim(client, leader, input, epoch, plan, dispatch, heads);
  return { plan, touched: ids, dispatch, slotsLeft: granted > slots, othersBlocked: others.othersBlocked };
};

const writeClaim = async (
  client: Client,
  leader: LockedLeader,
  input: TurnInput,
  epoch: number,
  plan: ClaimPlan,
  dispatch: TurnAnswer['dispatch'],
  heads: Awaited<ReturnType<typeof claim.readQueueHeads>>,
): Promise<void> => {
  if (dispatch !== null) {
    await claim.insertDispatch(client, {
      leaderId: input.leaderId,
      no: dispatch.no,
      handlerId: leader.handlerId,
      slots: dispatch.slots,
    });
    if (plan.take.length > 0) await claim.takeBatches(client, plan.take, dispatch.no);
    if (plan.cut.length > 0) {
      const by = { leaderId: input.leaderId, epoch, turn: input.turn, dispatch: dispatch.no, keyed: leader.keyed };
      const tasks = new Map<number, claim.HeadTask>();
      for (const head of heads.values()) for (const task of head) tasks.set(task.seq, task);
      await claim.insertBatches(
        client,
        by,
        plan.cut.map(({ targetId, reason, seqs, bytes, weight, startAtMs }) => ({
          targetId,
          reason: FLUSH_REASONS[reason],
          tasks: seqs.map((seq) => tasks.get(seq)!),
          bytes,
          weight,
          startAtMs,
        })),
      );
    }
  }
  if (plan.targets.length > 0)
    await claim.updateTargets(
      client,
      plan.targets.map((target) => ({
        id: target.id,
        due_at_ms: target.dueAtMs,
        busy: target.busy,
        paces: target.paces,
        hold_ms: target.holdMs,
      })),
    );
  if (leader.rates.some((rate) => rate.scope === 'handler') && dispatch !== null)
    await claim.updateHandlerPaces(client, leader.handlerId, plan.paces);
};

/** What the leader does next. Whoever publishes waiting or idle looks again after the commit: `claimBatches`. */
const publish = async (
  client: Client,
  deps: ClaimDeps,
  leader: LockedLeader,
  input: TurnInput,
  epoch: number,
  liveBefore: number,
  claimed: Claimed,
  touched: readonly number[],
): Promise<TurnAnswer> => {
  const due = await claim.readNextDue(client, input.leaderId);
  const live = liveBefore + (claimed.dispatch === null ? 0 : 1);
  const next = decideNext(leader, claimed, due.dueAtMs, live, input.mayClaim);
  const wakeAtMs = next.state === 'waiting' ? leader.nowMs + next.inMs : null;
  const lastReason = claimed.plan?.cut.at(-1)?.reason ?? null;
  const answer: TurnAnswer = {
    deposed: false,
    epoch,
    dispatch: claimed.dispatch,
    again: next.again,
    next: next.state,
    dueInMs: next.timer ? Math.ceil(next.inMs) : null,
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
    leaseMs: deps.leaseMs,
    lastReason: lastReason === null ? null : FLUSH_REASONS[lastReason],
  });
  return answer;
};

const deposed = (leader: LockedLeader): Turn => ({
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
  woken: [],
});

/**
 * The turn ran already (its first execution's answer was lost): nothing is written, the answer is what it was, but the workflow is to take
 * another turn at once. Several turns of one workflow task run again when its close is rejected or its worker dies, and only the last
 * one's answer is kept: what the earlier ones claimed was never started, and that next turn, which does not name it, adopts it.
 */
const repeated = (leader: LockedLeader, input: TurnInput): Turn => {
  // What followed the commit of the first execution (the look at the touched targets) may never have run.
  const { touched = [], ...last } = leader.answer as TurnAnswer & { touched?: number[] };
  const answer: TurnAnswer =
    input.turn === leader.turn
      ? { ...last, again: true }
      : { ...last, dispatch: null, again: true, next: 'working', dueInMs: null, heldBy: 'a repeated turn' };
  if (answer.dueInMs !== null)
    answer.dueInMs = Math.max(0, Math.ceil((leader.wakeAtMs ?? leader.nowMs) - leader.nowMs));
  return { answer, touched, woken: [] };
};

const itemsOf = (leader: LockedLeader, target: claim.DueTarget): number =>
  target.overrides?.maxItems ?? leader.limits.maxItems;

const batchLimits = (leader: LockedLeader): Parameters<typeof planClaim>[0]['limits'] => ({
  maxItems: leader.limits.maxItems,
  overheadBytes: leader.limits.overheadBytes,
  minItems: leader.limits.minItems,
  lingerMs: leader.limits.lingerMs,
  ...(leader.limits.maxBytes === null ? {} : { maxBytes: leader.limits.maxBytes }),
  ...(leader.limits.maxWeight === null ? {} : { maxWeight: leader.limits.maxWeight }),
  ...(leader.limits.quietMs === null ? {} : { quietPeriodMs: leader.limits.quietMs }),
});

import { cutBatches } from './batches';
import { mostCollected } from './coalescing';
import { takePaced } from './pacing';
import type { BatchLimits, CutBatch, WaitingTask } from '../calls/plans';
import type { RateLimit } from '../limits/limits';
import { ratesOfTarget } from '../limits/limits';
import type { SharedBudget, SharedRate } from '../limits/sharing';
import { shareAfter } from '../limits/sharing';

/**
 * What one claim may take, and what the store holds for it. All times are Unix milliseconds of the
 * database's clock.
 */
export interface ClaimInput {
  limits: BatchLimits;
  perTarget: number;
  weightPerTarget: number | null;
  weightPerHandler: number | null;
  rates: readonly RateLimit[];
  /**
   * State of the rates with scope `handler`, in their order: when the next call may start. A
   * missing entry: the rate was never used.
   */
  paces: readonly number[];
  /** A limit that the handler shares with others; absent or null: none. */
  shared?: SharedBudget | null;
  /** Weight of all open batches of the handler. */
  weightInFlight: number;
  /** In the order in which they are due. */
  targets: readonly ClaimTarget[];
  /** Batches that wait in the store and may go now, before any new batch. */
  waiting: readonly { id: number; targetId: number; n: number; weight: number }[];
  maxBatches: number;
  maxTasks: number;
  /** The handler has a `coalesceBy`. Absent: it has none. */
  coalesces?: boolean;
}

interface ClaimTarget {
  id: number;
  overrides: { lingerMs?: number; quietPeriodMs?: number; maxItems?: number; minItems?: number } | null;
  flushSeq: number | null;
  paces: readonly number[];
  allowed: number | null;
  /** Limits that are set for it. Absent or null: the handler's count. */
  perTarget?: number | null;
  weightPerTarget?: number | null;
  rates?: readonly RateLimit[] | null;
  holdMs: number | null;
  inFlight: number;
  /** Of its open batches. */
  weight: number;
  /**
   * Those of its open batches that wait in the store for a later time: their weight, and when the
   * first may go. Absent or null: none does.
   */
  later?: { weight: number; fromMs: number } | null;
  /** The head of its queue, and whether the queue holds more tasks. */
  head: readonly WaitingTask[];
  more: boolean;
}

export interface ClaimPlan {
  take: number[];
  /** Those taken whose calls may not start at once, and when they may. */
  later: { id: number; startAtMs: number }[];
  cut: (CutBatch & { targetId: number; startAtMs: number | null })[];
  targets: { id: number; dueAtMs: number | null; busy: boolean; paces: number[] | null; holdMs: number | null }[];
  paces: number[];
  tasks: number;
  /**
   * The handler's rate limit lets nothing be claimed until then (Unix milliseconds); null: it does.
   */
  pacedUntilMs: number | null;
  /**
   * What is left of the shared limit; `wants`: it left some of what is due. Absent: none is shared.
   */
  shared?: { paces: number[]; ownMs: number; wants: boolean };
  /** The handler's weight in flight is used up. */
  weightBlocked: boolean;
}

/**
 * How many milliseconds before its start a paced call may be claimed: the rest of the wait is spent
 * in its dispatch.
 */
export const PACE_HORIZON_MS = 1_000;

/**
 * Cuts the queues of all due targets under all limits together: size, weight, rates and calls in
 * flight. Pure.
 */
export const planClaim = (input: ClaimInput, nowMs: number): ClaimPlan => {
  const plan: ClaimPlan = {
    take: [],
    later: [],
    cut: [],
    targets: [],
    paces: [...input.paces],
    tasks: 0,
    pacedUntilMs: null,
    weightBlocked: false,
  };
  const { shared } = input;
  if (shared != null) plan.shared = { paces: [...shared.paces], ownMs: shared.ownMs, wants: false };
  const budget = new Budget(input, plan, nowMs);
  for (const target of input.targets) planTarget(target, budget);
  return plan;
};

const planTarget = (target: ClaimTarget, budget: Budget): void => {
  const { input, plan, nowMs } = budget;
  const due = {
    id: target.id,
    dueAtMs: null as number | null,
    busy: false,
    paces: null as number[] | null,
    holdMs: null as number | null,
  };
  plan.targets.push(due);
  if (target.holdMs !== null && target.holdMs > nowMs) {
    due.dueAtMs = target.holdMs;
    return;
  }
  const calls = target.perTarget ?? input.perTarget;
  const perTarget = Math.min(calls, target.allowed ?? calls);
  budget.begin(target);
  // No batch of the target is with a dispatch: take any number, since the one dispatch keeps to
  // perTarget. Otherwise take only what the limit leaves, or two dispatches together would exceed
  // it.
  let mayTake = target.inFlight === 0 ? Infinity : Math.max(0, perTarget - target.inFlight);
  const paces = [...target.paces];
  for (const batch of input.waiting) {
    if (batch.targetId !== target.id) continue;
    const start = mayTake > 0 && budget.hasRoom() ? budget.pace(batch, paces, due) : null;
    if (start === null) {
      due.dueAtMs = nowMs;
      due.busy = mayTake <= 0;
      return;
    }
    mayTake--;
    budget.flying += batch.weight;
    plan.take.push(batch.id);
    if (start > nowMs) plan.later.push({ id: batch.id, startAtMs: start });
    plan.tasks += batch.n;
    due.paces = paces;
  }
  cutTarget(target, budget, due, mayTake, paces);
};

const cutTarget = (
  target: ClaimTarget,
  budget: Budget,
  due: ClaimPlan['targets'][number],
  mayTake: number,
  paces: number[],
): void => {
  const { input, nowMs } = budget;
  const perTarget = target.weightPerTarget ?? input.weightPerTarget ?? Infinity;
  const targetLeft = perTarget - target.weight;
  const handlerLeft = budget.weightLeft();
  const weightBudget = Math.min(perTarget, input.weightPerHandler ?? Infinity);
  const limits = { ...input.limits, ...target.overrides };
  const cut = cutBatches(
    {
      tasks: target.head,
      more: target.more,
      limits,
      flushSeq: target.flushSeq,
      busyKeys: new Map(), // the statement that read the head left them out
      maxBatches: Math.min(mayTake, budget.roomForBatches()),
      weightLeft: Math.min(targetLeft, handlerLeft),
      ...(weightBudget === Infinity ? {} : { weightBudget }),
      ...(input.coalesces === true ? { mostCollected: mostCollected(limits.maxItems) } : {}),
    },
    nowMs,
  );
  due.dueAtMs = cut.dueAtMs;
  for (const batch of cut.batches) {
    const startAtMs = budget.hasRoom() ? budget.pace({ n: batch.seqs.length, weight: batch.weight }, paces, due) : null;
    if (startAtMs === null) {
      due.dueAtMs = nowMs; // the batch stays in the queue
      return;
    }
    due.paces = paces;
    budget.flying += batch.weight;
    budget.add(target.id, batch, startAtMs > nowMs ? startAtMs : null);
  }
  if (cut.blocked === 'slots' && mayTake <= cut.batches.length) due.busy = true;
  if (cut.blocked !== 'weight') return;
  if (targetLeft > handlerLeft) budget.plan.weightBlocked = true;
  else waitForWeight(target, budget, due);
};

/**
 * Notes what frees the weight of a target: the end of a call of its batches, which brings its
 * leader back (`busy`). If none is in flight, and batches that wait for a later time have all of
 * its weight, no call ends, and the target is held until the first of them may go.
 */
const waitForWeight = ({ weight, later }: ClaimTarget, budget: Budget, due: ClaimPlan['targets'][number]): void => {
  const ofNone = later != null && budget.flying === 0 && weight <= later.weight;
  if (!ofNone) {
    due.busy = true;
    return;
  }
  due.dueAtMs = later.fromMs;
  due.holdMs = later.fromMs;
};

/** What is left of the handler's limits, while the claim is planned. */
class Budget {
  private weight: number;
  /**
   * Weight of the present target that this claim has taken: batches that were to wait may be among
   * them, whose time came after the target was read.
   */
  flying = 0;
  /** Rates of the present target. */
  private rates: readonly (RateLimit | SharedRate)[] = [];
  constructor(
    readonly input: ClaimInput,
    readonly plan: ClaimPlan,
    readonly nowMs: number,
  ) {
    this.weight = input.weightInFlight;
  }

  /** Turns to the next target. */
  begin(target: ClaimTarget): void {
    this.flying = 0;
    this.rates = [...ratesOfTarget(this.input.rates, target.rates ?? null), ...(this.input.shared?.rates ?? [])];
  }

  roomForBatches(): number {
    return this.input.maxBatches - this.plan.cut.length - this.plan.take.length;
  }
  hasRoom(): boolean {
    return this.roomForBatches() > 0 && this.plan.tasks < this.input.maxTasks;
  }
  weightLeft(): number {
    return (this.input.weightPerHandler ?? Infinity) - this.weight;
  }
  add(targetId: number, batch: CutBatch, startAtMs: number | null): void {
    this.plan.cut.push({ ...batch, targetId, startAtMs });
    this.plan.tasks += batch.seqs.length;
    this.weight += batch.weight;
  }

  /**
   * Takes the batch's units of every rate, and returns when its call may start. Null: not within
   * the horizon; then nothing is taken, and the plan notes for which rate the batch waits.
   */
  pace(batch: { n: number; weight: number }, targetPaces: number[], due: { holdMs: number | null }): number | null {
    const { plan, nowMs } = this;
    if (this.hasHadItsShare()) return null;
    const places = { target: 0, handler: 0, shared: 0 };
    const pacesOf = { target: targetPaces, handler: plan.paces, shared: plan.shared?.paces ?? [] };
    const costOf = (unit: RateLimit['unit']): number =>
      unit === 'calls' ? 1 : unit === 'items' ? batch.n : batch.weight;
    const rates = this.rates.map((rate) => {
      const at = places[rate.scope]++;
      return { rate, at, nextAtMs: pacesOf[rate.scope][at] ?? 0, cost: costOf(rate.unit) };
    });
    for (const { rate, nextAtMs } of rates) {
      if (nextAtMs <= nowMs + PACE_HORIZON_MS) continue;
      const until = nextAtMs - PACE_HORIZON_MS / 2;
      if (rate.scope === 'target') due.holdMs = until;
      else this.wait(until, rate.scope === 'shared');
      return null;
    }
    // The call starts when the slowest of its rates lets it, and every rate counts from that start.
    const startAtMs = rates.reduce((start, { nextAtMs }) => Math.max(start, nextAtMs), nowMs);
    for (const { rate, at, cost } of rates) {
      const step = takePaced({ limit: rate.limit, perMs: rate.perMs, nextAtMs: startAtMs }, cost, startAtMs, 0);
      pacesOf[rate.scope][at] = step!.pace.nextAtMs;
    }
    const { shared } = this.input;
    if (shared != null) plan.shared!.ownMs = shareAfter({ ...shared, ownMs: plan.shared!.ownMs }, costOf, nowMs);
    return startAtMs;
  }

  /** Says whether others want of what is shared, and this handler has had its part of it. */
  private hasHadItsShare(): boolean {
    const { plan, nowMs } = this;
    const { shared } = this.input;
    if (shared == null || shared.active <= 1) return false;
    const { ownMs } = plan.shared!;
    if (ownMs <= nowMs + PACE_HORIZON_MS) return false;
    this.wait(ownMs - PACE_HORIZON_MS / 2, true);
    return true;
  }

  /** Says it for all that is left: what comes behind waits for the same. */
  private wait(untilMs: number, isShared: boolean): void {
    this.plan.pacedUntilMs = untilMs;
    if (isShared) this.plan.shared!.wants = true;
  }
}

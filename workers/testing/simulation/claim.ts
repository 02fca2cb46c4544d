import type { Handler } from '../../../handlers/types';
import { batchLimitsOf } from '../../../handlers/settings';
import type { BatchLimits, WaitingTask } from '../../../workflows/planning/calls/plans';
import { cutBatches } from '../../../workflows/planning/grouping/batches';
import { planClaim } from '../../../workflows/planning/grouping/claim';
import type { ClaimPlan } from '../../../workflows/planning/grouping/claim';
import { MAX_BATCHES, MAX_TARGETS, MAX_TASKS, wantedOf } from '../../../activities/grouping/mostOfClaim';
import { mostCollected, SUPERSEDED_BY } from '../../../workflows/planning/grouping/coalescing';
import { decideNext } from '../../../workflows/planning/grouping/next';
import type { Tables } from './tables';
import type { BatchRow, TargetRow, TaskRow } from './rows';

/**
 * Claims of a simulated store: which targets are due, and the batches that `planClaim` cuts of
 * them, as `activities/grouping/claim.ts` does it on Postgres.
 *
 * When a target is due is a rule that only SQL has there (`lowerDue`, `updateTargets`): here it is
 * what `cutBatches` says, with which that SQL has to agree.
 */
export class Claims {
  private readonly limits: BatchLimits;
  readonly coalesces: boolean;

  constructor(
    private readonly tables: Tables,
    private readonly handler: Handler,
  ) {
    this.limits = batchLimitsOf(handler);
    this.coalesces = handler.coalesceBy !== undefined;
  }

  /** Returns when this target is due, whatever holds its handler; Infinity: it has nothing. */
  dueAtMs(target: TargetRow): number {
    if (target.pausedFor !== null || this.tables.servingOf(target.key) === null) return Infinity;
    let at = Infinity;
    for (const { notBeforeMs } of target.delayed) at = Math.min(at, notBeforeMs);
    for (const batch of target.batches) if (isWaiting(batch)) at = Math.min(at, batch.retryAtMs ?? batch.createdAtMs);
    if (target.queue.length > 0) at = Math.min(at, this.cutDueAtMs(target));
    return at === Infinity ? at : Math.max(at, target.holdMs ?? 0);
  }

  /** Returns before when the handler lets nothing be claimed. */
  heldUntilMs(): number {
    const { pausedFor, holdMs, blockedUntilMs } = this.tables.handler;
    return pausedFor === null ? Math.max(holdMs ?? 0, blockedUntilMs ?? 0) : Infinity;
  }

  /** Takes what is due now, and returns the batches in the order in which they are called. */
  take(): BatchRow[] {
    const { tables } = this;
    if (this.heldUntilMs() > tables.nowMs) return [];
    const due = this.dueTargets();
    if (due.length === 0) return [];
    for (const target of due) this.promote(target);
    const plan = this.plan(due);
    const taken = this.write(plan);
    if (taken.length === 0) tables.handler.blockedUntilMs = this.blockedUntilMs(plan);
    return taken;
  }

  /** Returns until when the leader waits that has found something due and taken nothing. */
  private blockedUntilMs(plan: ClaimPlan): number | null {
    const { nowMs, handler } = this.tables;
    const due = Math.min(
      ...plan.targets.map(({ busy, id }) => (busy ? Infinity : this.dueAtMs(this.tables.targetOf(id)))),
    );
    const leader = { paused: false, handlerHoldMs: handler.holdMs, nowMs };
    const next = decideNext(leader, { plan, slotsLeft: true }, due === Infinity ? null : due, 0, true);
    return next.blocked ? nowMs + next.inMs : null;
  }

  private cutDueAtMs(target: TargetRow): number {
    const { nowMs } = this.tables;
    const limits = { ...this.limits, ...target.overrides };
    const plan = cutBatches(
      {
        tasks: this.mayGo(target),
        more: false,
        limits,
        flushSeq: target.flushSeq,
        busyKeys: target.busyKeys,
        maxBatches: 0,
        weightLeft: Infinity,
        ...this.weightBudget(),
        ...(this.coalesces ? { mostCollected: mostCollected(limits.maxItems) } : {}),
      },
      nowMs,
    );
    return plan.dueAtMs ?? Infinity;
  }

  private weightBudget(): { weightBudget?: number } {
    const { perTarget = Infinity, perHandler = Infinity } = this.handler.limits.maxWeightInFlight;
    const weightBudget = Math.min(perTarget, perHandler);
    return weightBudget === Infinity ? {} : { weightBudget };
  }

  /** The longest due first, as a claim locks them. */
  private dueTargets(): TargetRow[] {
    const due: { target: TargetRow; atMs: number }[] = [];
    for (const target of this.tables.targets.values()) {
      const atMs = this.dueAtMs(target);
      if (atMs <= this.tables.nowMs) due.push({ target, atMs });
    }
    if (due.length > 1) due.sort((a, b) => a.atMs - b.atMs || a.target.id - b.target.id);
    return due.slice(0, MAX_TARGETS).map(({ target }) => target);
  }

  /** Moves delayed tasks whose time has come into the queue; they have been ready since then. */
  private promote(target: TargetRow): void {
    const { nowMs } = this.tables;
    if (!target.delayed.some((task) => task.notBeforeMs <= nowMs)) return;
    const ready = target.delayed.filter((task) => task.notBeforeMs <= nowMs);
    target.delayed = target.delayed.filter((task) => task.notBeforeMs > nowMs);
    for (const task of ready) this.tables.enqueue(task, task.notBeforeMs);
  }

  /** Returns the tasks whose key no other task holds. */
  private mayGo({ queue, busyKeys }: TargetRow): readonly WaitingTask[] {
    if (busyKeys.size === 0) return queue;
    return queue.filter(({ key, seq }) => key === null || (busyKeys.get(key) ?? seq) === seq);
  }

  private plan(due: readonly TargetRow[]): ClaimPlan {
    const { tables, handler } = this;
    const { perTarget, perHandler } = handler.limits.maxWeightInFlight;
    const open = (target: TargetRow): BatchRow[] => [...target.batches].filter(({ state }) => state === 'open');
    const waiting: { id: number; targetId: number; n: number; weight: number }[] = [];
    const targets = due.map((target) => {
      const batches = open(target);
      for (const batch of batches)
        if (isWaiting(batch) && (batch.retryAtMs ?? 0) <= tables.nowMs)
          waiting.push({ id: batch.id, targetId: target.id, n: batch.members.length, weight: batch.weight });
      const maxItems = target.overrides?.maxItems ?? this.limits.maxItems;
      const wanted = wantedOf(this, maxItems, MAX_BATCHES);
      const tasks = this.mayGo(target);
      return {
        id: target.id,
        overrides: target.overrides,
        flushSeq: target.flushSeq,
        paces: target.paces,
        allowed: null,
        holdMs: target.holdMs !== null && target.holdMs > tables.nowMs ? target.holdMs : null,
        inFlight: batches.filter(({ carried }) => carried).length,
        weight: weigh(batches),
        later: laterOf(batches, tables.nowMs),
        head: tasks.length > wanted ? tasks.slice(0, wanted) : tasks,
        more: tasks.length >= wanted,
      };
    });
    const all = perHandler === undefined ? [] : [...tables.targets.values()].flatMap(open);
    return planClaim(
      {
        limits: this.limits,
        perTarget: handler.concurrency.perTarget,
        weightPerTarget: perTarget ?? null,
        weightPerHandler: perHandler ?? null,
        rates: handler.rates,
        paces: tables.handler.paces,
        weightInFlight: weigh(all),
        targets,
        waiting: waiting.sort((a, b) => a.id - b.id),
        maxBatches: MAX_BATCHES,
        maxTasks: MAX_TASKS,
        coalesces: this.coalesces,
      },
      tables.nowMs,
    );
  }

  private write(plan: ClaimPlan): BatchRow[] {
    const { tables } = this;
    const taken = plan.take.map((id) => tables.batch(id));
    for (const { id, startAtMs } of plan.later) tables.batch(id).retryAtMs = startAtMs;
    for (const { targetId, seqs, reason, weight, startAtMs, superseded = [] } of plan.cut) {
      const target = tables.targetOf(targetId);
      const members = seqs.map((seq) => tables.bySeq.get(seq)!);
      const gone = new Set<number>([...seqs, ...superseded.map(({ seq }) => seq)]);
      target.queue = target.queue.filter(({ seq }) => !gone.has(seq));
      for (const { seq, by } of superseded) this.endUnsent(tables.bySeq.get(seq)!, tables.bySeq.get(by)!);
      if (!this.coalesces) for (const { key, seq } of members) if (key !== null) target.busyKeys.set(key, seq);
      taken.push(tables.addBatch(target, members, { reason, weight, retryAtMs: startAtMs }));
    }
    for (const batch of taken) batch.carried = true;
    for (const { id, paces, holdMs } of plan.targets) {
      const target = tables.targetOf(id);
      target.paces = paces ?? target.paces;
      if (holdMs !== null) target.holdMs = Math.max(holdMs, target.holdMs ?? 0);
    }
    if (taken.length > 0) tables.handler.paces = plan.paces;
    return taken.sort((a, b) => a.id - b.id);
  }

  private endUnsent(task: TaskRow, goes: TaskRow): void {
    this.tables.end(task, 'cancelled', task.attempts, SUPERSEDED_BY + goes.id);
  }
}

const laterOf = (batches: readonly BatchRow[], nowMs: number): { weight: number; fromMs: number } | null => {
  const later = batches.filter((batch) => isWaiting(batch) && (batch.retryAtMs ?? 0) > nowMs);
  if (later.length === 0) return null;
  return { weight: weigh(later), fromMs: Math.min(...later.map(({ retryAtMs }) => retryAtMs!)) };
};

const weigh = (batches: readonly BatchRow[]): number => batches.reduce((sum, { weight }) => sum + weight, 0);

/** Says whether a batch waits in the store for a dispatch. */
const isWaiting = ({ state, carried, refused, reference }: BatchRow): boolean =>
  state === 'open' && !carried && !refused && reference === null;

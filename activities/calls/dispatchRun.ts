import { Context } from '@temporalio/activity';
import type { DispatchAnswer } from '../../workflows/messages';
import { isDueEarlier, keepLeader } from '../../postgres/grouping/leader';
import { findStarvedLeader, wakeBlockedLeaders } from '../../postgres/grouping/leaderWakes';
import { endDispatch, handBack, readDispatch, releaseLeader, releaseTargets } from '../../postgres/calls/batch';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { Coalescer } from '../../postgres/sharing/coalescer';
import { WAKE_LEASE_MS } from '../../postgres/grouping/ring';
import { wakeMonitor, wakeNotifier } from '../../workflows/wake';
import { Allowance } from './allowance';
import { TURNS_PER_EPOCH } from '../grouping/reserve';
import { releaseDependents } from '../grouping/dependents';
import { awaitBriefly, ring, wake } from '../grouping/ring';
import { Schedule } from './schedule';
import { askThenTry, readAhead, tryCall } from '../hooks/askFirst';
import { concludeEarlier, prepare } from './attempt';
import { takeBackMarks } from './preparer';
import { settleKept } from './settle';
import type { CallEnd } from './door';
import type { Call } from './call';
import type { CallerDeps, Carried } from './carried';
import { assertOwn, carriedAgain } from './carried';

/** How often the limits are read; every other time with a sign of life. */
const LOOK_MS = 500;
/** How long a dispatch vouches for its leader. */
const KEEP_FOR_MS = 60_000;

/** Carries the batches of one dispatch to their ends, within its limits, or hands them back. */
export class DispatchRun {
  private readonly schedule: Schedule;
  private readonly allowance: Allowance;
  /** Signs of life and looks at the limits: one at a time. */
  private readonly beats = new Coalescer<'touch' | 'look'>((kinds) => this.beat(kinds));
  /** Targets with new work: one ring in flight; those that come meanwhile share the next. */
  private readonly rings = new Coalescer<number>((targets) => ring(this.deps, targets));
  private readonly releases = new Coalescer<true>(() => releaseDependents(this.deps));
  private readonly startedAt = performance.now();
  private stopping = false;
  private ending = false;
  private ticking = false;
  private touchIsDue = false;
  private batches = 0;
  private tasks = 0;
  private handedBack = 0;
  private hasNotifications = false;
  private accepted = false;
  private failure: unknown;
  private offered: number;
  private changed: () => void = () => undefined;
  private readonly running = new Set<Promise<void>>();

  constructor(
    private readonly deps: CallerDeps,
    private readonly gone: AbortSignal,
    /** Aborted when its partition is to be given up. */
    private readonly revoked: AbortSignal = new AbortController().signal,
  ) {
    this.schedule = new Schedule(deps.input.slots);
    this.allowance = new Allowance(deps, this.schedule);
    this.offered = deps.input.slots;
  }

  async run(): Promise<DispatchAnswer> {
    const { pool, input } = this.deps;
    const [carried, own] = await Promise.all([readDispatch(pool, input.leaderId, input.no), this.allowance.begin()]);
    assertOwn(carried, input.handler);
    this.allowance.know(carried);
    for (const batch of carried) this.schedule.add(batch, performance.now() + batch.startInMs);
    let ticks = 0;
    const ticker = setInterval(() => this.tick(++ticks % 2 === 0), LOOK_MS);
    const stop = (): void => this.stop();
    const stops = [this.deps.signal, this.gone, this.deps.draining, this.revoked];
    for (const signal of stops) signal.addEventListener('abort', stop);
    try {
      if (!own || stops.some(({ aborted }) => aborted)) this.stop();
      while (!this.isOver()) {
        const now = performance.now();
        this.start(now);
        if (this.isOver()) break;
        await this.nextChange(now);
        if (performance.now() - this.startedAt > this.deps.softDeadlineMs) this.stop();
        if (this.failure !== undefined && this.running.size === 0) throw this.failure;
      }
    } finally {
      this.ending = true;
      for (const signal of stops) signal.removeEventListener('abort', stop);
      await Promise.allSettled(this.running);
      await this.unmark(this.schedule.takeReady()).catch(() => undefined); // the marks pass
      clearInterval(ticker);
    }
    if (this.failure !== undefined) throw this.failure;
    return this.end();
  }

  private isOver(): boolean {
    return this.running.size === 0 && (this.schedule.isEmpty() || this.failure !== undefined);
  }

  /**
   * Starts what may start: concludes earlier attempts, prepares a group ahead, fills free slots
   * with prepared calls.
   */
  private start(now: number): void {
    if (this.failure !== undefined || this.stopping) {
      const rest = this.schedule.takeUnstarted();
      if (rest.length > 0) this.launch(this.giveBack(rest));
    } else {
      const group = this.schedule.takeForPreparation(now);
      if (group.length > 0) this.launch(this.prepareGroup(group));
    }
    if (!this.allowance.mayCall(now)) return;
    for (let carried = this.schedule.takeForCall(now); carried !== null; carried = this.schedule.takeForCall(now))
      this.launch(this.call(carried));
  }

  private async prepareGroup(group: CarriedBatch[]): Promise<void> {
    const unconcluded = group.filter((batch) => batch.unconcluded);
    const fresh = group.filter((batch) => !batch.unconcluded);
    for (const batch of unconcluded) this.launch(this.conclude(batch));
    const asks = this.deps.hooks?.asks === true;
    const prepared = fresh.length === 0 ? [] : await (asks ? readAhead(this.deps, fresh) : prepare(this.deps, fresh));
    this.schedule.prepared(fresh, prepared);
    // These batches were not marked, because they are paused or another dispatch took them over.
    // Hand back those that are still ours.
    const left = fresh.filter((batch) => !prepared.some((carried) => carried.batch.id === batch.id));
    if (left.length > 0) await this.giveBack(left);
  }

  private async conclude(batch: CarriedBatch): Promise<void> {
    this.schedule.prepared([batch], []);
    const { call, outcome } = await concludeEarlier(this.deps, batch);
    await this.settle(call, outcome);
  }

  private async call(prepared: Carried): Promise<void> {
    const carried = { ...prepared, batch: this.allowance.stamp(prepared.batch) };
    const { batch } = carried;
    let freed = false;
    const free = (): void => {
      if (freed) return;
      freed = true;
      this.schedule.callEnded(batch.targetId);
      this.changed();
    };
    try {
      const isStopping = (): boolean => this.stopping;
      const asks = this.deps.hooks?.asks === true;
      const tried = await (asks ? askThenTry(this.deps, carried, isStopping) : tryCall(this.deps, carried, isStopping));
      if ('marked' in tried) return await this.unmark([tried.marked]);
      if ('unmarked' in tried) return await this.giveBack([tried.unmarked]);
      const { call, outcome } = tried;
      const isRefused = outcome.kind === 'later';
      if (!isRefused) free();
      await this.settle(call, outcome);
      // Free the slot only after this dispatch knows of the refusal, or the next call would start
      // despite it.
      if (isRefused) await this.beats.add(['look']);
    } finally {
      free();
    }
  }

  private async unmark(carried: readonly Carried[]): Promise<void> {
    const marks = carried.map(({ batch, attempt }) => ({ id: batch.id, attempt, dispatch: this.deps.input.no }));
    await takeBackMarks(this.deps, marks, this.deps.signal);
    for (const { batch, attempt } of carried) this.schedule.add({ ...batch, attempt }, 0);
  }

  private async settle(call: Call, outcome: CallEnd): Promise<void> {
    const settled = await settleKept(call, outcome, this.deps);
    this.batches++;
    this.tasks += call.members.length;
    this.hasNotifications ||= settled.hasNotifications;
    this.accepted ||= settled.accepted;
    if (settled.awaited) await this.releases.add([true]);
    if (!settled.written)
      this.deps.log.info(
        { batch: call.batch.id, attempt: call.attempt },
        'the answer came too late: a newer attempt exists',
      );
    if (settled.againInMs !== null && settled.written) {
      if (settled.kind === 'wait') this.schedule.holdTarget(call.batch.targetId, performance.now() + settled.againInMs);
      this.schedule.add(carriedAgain(call, settled.kind), performance.now() + settled.againInMs);
    } else if (settled.ring) {
      await this.rings.add([call.batch.targetId]);
    }
  }

  private async giveBack(batches: readonly CarriedBatch[]): Promise<void> {
    this.handedBack += batches.length;
    const targets = await handBack(
      this.deps.pool,
      batches.map((batch) => batch.id),
      this.deps.input.no,
    );
    await this.rings.add(targets);
  }

  /**
   * Runs a beat after the one before it has ended: with a store that takes longer than the time
   * between two, one was always in progress, and the dispatch could not end.
   */
  private tick(touches: boolean): void {
    const { batches, tasks, handedBack } = this;
    Context.current().heartbeat({ batches, tasks, handedBack }); // shown in the Web UI
    this.touchIsDue ||= touches;
    if (this.ticking || this.ending) return;
    const kind = this.touchIsDue ? 'touch' : 'look';
    this.ticking = true;
    this.touchIsDue = false;
    this.launch(this.beats.add([kind]).finally(() => (this.ticking = false)));
  }

  private async beat(kinds: readonly ('touch' | 'look')[]): Promise<void> {
    if (kinds.includes('touch')) await this.touch();
    const held = await this.allowance.look();
    await this.unmark(this.schedule.takeBack(performance.now()));
    if (held === null || this.allowance.repaced) this.stop();
    else if (held.length > 0) this.launch(this.giveBack(held));
    this.changed();
  }

  /**
   * Gives a sign of life, every second, with the slots that it still needs; releases targets it no
   * longer holds back; and learns whether another leader waits.
   */
  private async touch(): Promise<void> {
    const { pool, input } = this.deps;
    const needed = this.schedule.slotsNeeded();
    const { known, wanted, handlerId } = await this.allowance.touch(needed);
    if (!known || wanted) this.stop();
    // Stop vouching eventually: the sweeper must notice a run that is gone or takes no turns,
    // however long a call takes.
    if (known && !this.gone.aborted && performance.now() - this.startedAt < KEEP_FOR_MS)
      await keepLeader(pool, input.leaderId, input.epoch, this.deps.leaseMs);
    const idle = await releaseTargets(pool, this.schedule.stragglers());
    await this.rings.add(idle);
    // Long calls hold fewer slots now: offer the others to leaders without any, and to our own if
    // it has due work.
    if (known && needed < this.offered && this.schedule.hasOnlyCalls()) {
      this.offered = needed;
      const blocked = await wakeBlockedLeaders(pool, handlerId, null, WAKE_LEASE_MS);
      await wake(this.deps, [...blocked, ...(await findStarvedLeader(pool, input.leaderId))]);
    }
  }

  private stop(): void {
    if (this.stopping) return;
    this.stopping = true;
    this.changed();
  }

  private launch(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.failure ??= error;
      })
      .finally(() => {
        this.running.delete(tracked);
        this.changed();
      });
    this.running.add(tracked);
  }

  /**
   * Waits until something ends, or the next held or paced batch may start. `now`: the instant that
   * `start` judged by, or one that came due in between is missed.
   */
  private async nextChange(now: number): Promise<void> {
    const waitMs = Math.min(LOOK_MS, this.schedule.nextStartAt(now) - now);
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.changed = resolve;
      timer = setTimeout(resolve, waitMs);
    });
    clearTimeout(timer);
  }

  private async end(): Promise<DispatchAnswer> {
    const { pool, input, requests, prefix } = this.deps;
    if (this.hasNotifications)
      await awaitBriefly(this.deps, wakeNotifier(requests, prefix), 'the notifier was not woken');
    if (this.accepted)
      await awaitBriefly(this.deps, wakeMonitor(requests, prefix, input.handler), 'a monitor was not woken');
    const handlerId = await endDispatch(pool, input.leaderId, input.no);
    // After its commit, in a new snapshot: a leader that publishes that it waits for a slot reads
    // the slots after that likewise. Its own run learns of it by the activity's answer; the run
    // after that only from this.
    if (handlerId !== null) await wake(this.deps, await wakeBlockedLeaders(pool, handlerId, input, WAKE_LEASE_MS));
    const answer = { batches: this.batches, tasks: this.tasks, handedBack: this.handedBack };
    // If this was all, the leader steps down here: a lone batch then costs no turn for it. Then the
    // re-read, in a new snapshot.
    const released =
      this.handedBack === 0 && (await releaseLeader(pool, input.leaderId, input.epoch, input.no % TURNS_PER_EPOCH));
    return { ...answer, released: released && !(await isDueEarlier(pool, input.leaderId)) };
  }
}

import { Context } from '@temporalio/activity';
import { recoverBatches } from '../../postgres/lanes/recovery';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { isFirstAccepted } from '../../postgres/accepted/poll';
import { releaseQueuer } from '../../postgres/lanes/queuer';
import { deleteSubmitter, keepSubmitter, readGranted, shrinkSubmitter } from '../../postgres/lanes/submitter';
import type { DispatchAnswer, DispatchInput } from '../../workflows/messages';
import { wakeMonitor, wakeNotifier } from '../../workflows/wake';
import type { ActivityDeps } from '../deps';
import type { Handler } from '../../handlers/types';
import type { PartitionUse } from '../nodes/partitions';
import { SUBMITTER_LEASE_MS } from './nextGrants';
import { releaseDependents } from '../grouping/dependents';
import { awaitBriefly } from '../grouping/ring';
import { dependenciesOf } from './handOver';
import { returnUnsent } from './marking';
import { wakeQueuersOf } from './ring';
import type { CallEnd } from '../calls/door';
import type { CallerDeps } from '../calls/carried';
import { concludeEarlier, fenceOf, makeCall, mayStart } from '../calls/attempt';
import { toCall } from '../calls/request';
import { readAhead } from '../hooks/askFirst';
import { settleKept } from '../calls/settle';
import type { Call } from '../calls/call';
import { TICK_MS } from '../tick';

/**
 * Longest time between a mark and its call. A process that was stopped in between withdraws the
 * mark instead of calling.
 */
const MARK_LATE_MS = 2_000;

/** Batches at work that a heartbeat names. */
const MOST_SHOWN = 20;

/** A batch that was not sent, and the attempt marked for it; null: no attempt was marked. */
interface Unsent {
  attempt: number | null;
}
const UNMARKED: Unsent = { attempt: null };

/**
 * Sends the batches that a queuer granted: each slot sends one batch at a time, settles it, and
 * then requests the next grant. Ends when no batch is ready, at the soft deadline, or when the
 * queuer has declared this submitter dead.
 */
export class SubmitterRun {
  private readonly running = new Set<Promise<void>>();
  /** Numbers of the batches at work. */
  private readonly sending = new Set<number>();
  private readonly startedAt = performance.now();
  private slots: number;
  private idle = 0;
  private shrinking = false;
  private stopping = false;
  private ticking = false;
  private batches = 0;
  private tasks = 0;
  private handedBack = 0;
  private hasNotifications = false;
  private failure: unknown;
  private changed: () => void = () => undefined;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DispatchInput & { queuerId: number },
    private readonly signal: AbortSignal,
    /** Aborted when no further batch may be started. */
    private readonly gone: AbortSignal,
  ) {
    this.slots = input.slots;
  }

  async run(): Promise<DispatchAnswer> {
    const { pool, draining } = this.deps;
    const { no, epoch } = this.input;
    const stop = (): void => void (this.stopping = true);
    const ticker = setInterval(() => this.launch(this.tick()), TICK_MS);
    for (const signal of [this.signal, this.gone, draining]) signal.addEventListener('abort', stop);
    try {
      if (this.signal.aborted || this.gone.aborted || draining.aborted) this.stopping = true;
      if (await keepSubmitter(pool, no, epoch, SUBMITTER_LEASE_MS))
        for (const batch of await readGranted(pool, no)) this.launch(this.carry(batch));
      while (this.running.size > 0) {
        await new Promise<void>((resolve) => (this.changed = resolve));
        if (performance.now() - this.startedAt > this.deps.softDeadlineMs) this.stopping = true;
      }
    } finally {
      clearInterval(ticker);
      for (const signal of [this.signal, this.gone, draining]) signal.removeEventListener('abort', stop);
      await Promise.allSettled(this.running);
    }
    if (this.failure !== undefined) throw this.failure;
    return this.end();
  }

  /** Runs one slot: takes batches one by one from grant to settlement, until none is granted. */
  private async carry(first: CarriedBatch): Promise<void> {
    const { no, epoch } = this.input;
    const isStopping = (): boolean => this.stopping;
    const granter = this.deps.granters.of(this.input.queuerId);
    for (let batch: CarriedBatch | null = first; batch !== null;) {
      await this.carryOne(batch);
      batch = this.stopping ? null : await granter.next({ no, epoch, isStopping });
    }
    await this.giveUpSlot();
  }

  /**
   * Sends one batch. Returns an unsent batch to its lane immediately, whatever the reason: other
   * slots may keep this submitter alive for long, and until it ends no other submitter could take
   * the batch.
   */
  private async carryOne(batch: CarriedBatch): Promise<void> {
    this.sending.add(batch.id);
    await this.carryHere(batch).finally(() => this.sending.delete(batch.id));
  }

  private async carryHere(batch: CarriedBatch): Promise<void> {
    const handler = this.deps.handlers.get(batch.handler);
    if (handler === undefined || this.stopping) return this.giveBack(batch.id, null);
    const use =
      batch.partition === null ? null : await this.deps.partitions.use(batch.partition, null, () => undefined);
    try {
      const isOurs = batch.partition === null || use !== null;
      const carried = isOurs ? await this.carryUnder(batch, handler, use) : UNMARKED;
      if (carried !== null) await this.giveBack(batch.id, carried.attempt);
    } finally {
      use?.end();
    }
  }

  private async giveBack(id: number, unused: number | null): Promise<void> {
    const one = { id, submitter: this.input.no, unused };
    if (!(await returnUnsent(this.deps, one, this.signal))) return;
    this.handedBack++;
    await wakeQueuersOf(this.deps, [this.input.queuerId]);
  }

  /** Returns null if the call was made, or an earlier call was concluded. */
  private async carryUnder(batch: CarriedBatch, handler: Handler, use: PartitionUse | null): Promise<Unsent | null> {
    const { input, signal, deps } = this;
    const callers: CallerDeps = { ...deps, handler, input, signal, home: deps.homes.lane, use };
    if (batch.startInMs > 0) await this.untilStart(batch.startInMs);
    if (this.stopping) return UNMARKED;
    const ended = batch.unconcluded ? await concludeEarlier(callers, batch) : await this.send(callers, batch);
    if (!('outcome' in ended)) return ended;
    await this.settle(ended);
    return null;
  }

  /**
   * Waits until the handler's rate allows the call: a batch is granted up to a second ahead of
   * time.
   */
  private async untilStart(inMs: number): Promise<void> {
    const until = performance.now() + inMs;
    while (!this.stopping && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, Math.min(50, until - performance.now())));
  }

  /** Sends a batch. Returns it as unsent if it must not be sent, or not by this submitter. */
  private async send(callers: CallerDeps, batch: CarriedBatch): Promise<{ call: Call; outcome: CallEnd } | Unsent> {
    const dependsOn = await dependenciesOf(callers, batch);
    if (dependsOn === null) return UNMARKED;
    const refusal = await this.ask(callers, batch);
    if (this.stopping) return UNMARKED;
    const { timeoutMs } = callers.handler;
    const fence = fenceOf(callers.use);
    const mark = {
      id: batch.id,
      attempt: batch.attempt,
      submitter: this.input.no,
      timeoutMs: timeoutMs + MARK_LATE_MS,
      ...(fence === null ? {} : { fence }),
    };
    const { members, marked, markedAtMs } = await this.deps.laneMarks.prepare([mark], this.signal);
    if (!marked.has(batch.id)) return UNMARKED;
    // The process was stopped after the claim was checked. Do not call now: the next holder relies
    // on calls ending before their mark expires.
    const isLate = (): boolean => performance.now() - markedAtMs > MARK_LATE_MS || callers.use?.isHeld() === false;
    const attempt = batch.attempt + 1;
    const own = members.get(batch.id) ?? [];
    const carried = { batch, members: own, attempt, markedAtMs, fence, dependsOn };
    callers.hooks?.marked(carried);
    if (refusal !== null) return { call: toCall(callers, carried), outcome: refusal };
    if (isLate() || !(await mayStart(callers, batch, isLate))) return { attempt };
    return makeCall(callers, carried);
  }

  /** Asks `beforeCall`, before anything is marked; null: the call may be made. */
  private async ask(callers: CallerDeps, batch: CarriedBatch): Promise<CallEnd | null> {
    if (callers.hooks?.asks !== true) return null;
    const [seen] = await readAhead(callers, [batch]);
    return callers.hooks.ask({ ...seen!, attempt: batch.attempt + 1 });
  }

  private async settle({ call, outcome }: { call: Call; outcome: CallEnd }): Promise<void> {
    const { batch } = call;
    const settled = await settleKept(call, outcome, { signal: this.signal, log: this.deps.log });
    if (!settled.written) {
      this.deps.log.info(
        { batch: batch.id, attempt: call.attempt },
        'the answer came too late: a newer attempt exists',
      );
      return;
    }
    this.batches++;
    this.tasks += call.members.length;
    this.hasNotifications ||= settled.hasNotifications;
    if (settled.awaited) await releaseDependents(this.deps);
    // Wakes the monitor, which may have ended, if this is the only batch that the downstream has;
    // with an older one, the monitor is running. Not awaited, since the Temporal server may be slow
    // and the sweeper repeats a lost wake.
    if (settled.accepted && (await isFirstAccepted(this.deps.pool, batch.handler, batch.id)))
      this.launch(wakeMonitor(this.deps.requests, this.deps.prefix, batch.handler));
  }

  /**
   * Gives up slots, all that became free at the same time together. Then, after the commit and in a
   * new snapshot, wakes the queuer if work arrived in the meantime.
   */
  private async giveUpSlot(): Promise<void> {
    this.idle++;
    if (this.shrinking) return;
    this.shrinking = true;
    try {
      while (this.idle > 0) {
        this.slots -= this.idle;
        this.idle = 0;
        await shrinkSubmitter(this.deps.pool, this.input.no, this.slots);
        await wakeQueuersOf(this.deps, [this.input.queuerId]);
      }
    } finally {
      this.shrinking = false;
    }
  }

  /** Returns what the Web UI shows with the last heartbeat, which is sent anyway. */
  private progress(): object {
    const { slots, batches, tasks, handedBack } = this;
    return { slots, sending: [...this.sending].slice(0, MOST_SHOWN), batches, tasks, handedBack };
  }

  /**
   * Runs one tick at a time: if ticks overlapped while the store is slow, the submitter could never
   * end.
   */
  private async tick(): Promise<void> {
    Context.current().heartbeat(this.progress());
    if (this.ticking) return;
    this.ticking = true;
    try {
      if (!(await keepSubmitter(this.deps.pool, this.input.no, this.input.epoch, SUBMITTER_LEASE_MS)))
        this.stopping = true;
    } finally {
      this.ticking = false;
    }
  }

  private launch(work: Promise<unknown>): void {
    const tracked: Promise<void> = work
      .then(() => undefined)
      .catch((error: unknown) => {
        this.failure ??= error;
        this.stopping = true;
      })
      .finally(() => {
        this.running.delete(tracked);
        this.changed();
      });
    this.running.add(tracked);
  }

  private async end(): Promise<DispatchAnswer> {
    const { pool, requests, prefix } = this.deps;
    const { queuerId, no, epoch } = this.input;
    if (this.hasNotifications)
      await awaitBriefly(this.deps, wakeNotifier(requests, prefix), 'the notifier was not woken');
    const handedBack = this.handedBack + (await recoverBatches(pool, [no])).length; // granted and not sent
    await deleteSubmitter(pool, no);
    const released = await releaseQueuer(pool, queuerId, epoch);
    if (!released) await wakeQueuersOf(this.deps, [queuerId]);
    return { batches: this.batches, tasks: this.tasks, handedBack, released };
  }
}

import { Context } from '@temporalio/activity';
import { recoverBatches } from '../../postgres/lanes/recovery';
import type { CarriedBatch } from '../../postgres/calls/batch';
import { isFirstAccepted } from '../../postgres/accepted/poll';
import { releaseQueuer } from '../../postgres/lanes/queuer';
import {
  deleteSubmitter,
  keepSubmitter,
  readGranted,
  returnGranted,
  shrinkSubmitter,
} from '../../postgres/lanes/submitter';
import type { DispatchAnswer, DispatchInput } from '../../workflows/messages';
import { wakeMonitor, wakeNotifier } from '../../workflows/wake';
import type { ActivityDeps } from '../deps';
import type { Handler } from '../../handlers/types';
import type { PartitionUse } from '../nodes/partitions';
import { SUBMITTER_LEASE_MS } from './nextGrants';
import { awaitBriefly } from '../grouping/ring';
import { wakeQueuersOf } from './ring';
import type { CallEnd } from '../calls/door';
import type { CallerDeps } from '../calls/carried';
import { concludeEarlier, fenceOf, makeCall, mayStart } from '../calls/attempt';
import { settleKept } from '../calls/settle';
import type { Call } from '../calls/call';
import { TICK_MS } from '../tick';

/**
 * Longest time between a mark and its call: a process that was stopped there takes the mark back,
 * and its call is not made.
 */
const MARK_LATE_MS = 2_000;

/** A batch that was not called, and the attempt that was marked for it; null: none was. */
interface Unsent {
  attempt: number | null;
}
const UNMARKED: Unsent = { attempt: null };

/**
 * Carries a queuer's grants: each slot carries one batch at a time, settles it, and grants itself
 * the next one in turn. It ends when nothing more may go, at the soft deadline, or when it was
 * taken for dead.
 */
export class SubmitterRun {
  private readonly running = new Set<Promise<void>>();
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
    /** Aborted: no further batch is begun. */
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

  /** Runs one slot: a batch from its grant to its settlement, then the next, while there is one. */
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
   * Carries one batch. A batch that is not sent goes back at once, whatever the reason: the other
   * slots may have calls for as long as the submitter lives, and while it lives no other takes the
   * batch.
   */
  private async carryOne(batch: CarriedBatch): Promise<void> {
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
    if ((await returnGranted(this.deps.pool, id, this.input.no, unused)) === null) return;
    this.handedBack++;
    await wakeQueuersOf(this.deps, [this.input.queuerId]);
  }

  /** Returns null if its call was made, or an earlier one concluded. */
  private async carryUnder(batch: CarriedBatch, handler: Handler, use: PartitionUse | null): Promise<Unsent | null> {
    const callers: CallerDeps = {
      ...this.deps,
      handler,
      input: this.input,
      signal: this.signal,
      home: this.deps.homes.lane,
      use,
    };
    if (batch.startInMs > 0) await this.untilStart(batch.startInMs);
    if (this.stopping) return UNMARKED;
    const ended = batch.unconcluded ? await concludeEarlier(callers, batch) : await this.send(callers, batch);
    if (!('outcome' in ended)) return ended;
    await this.settle(ended);
    return null;
  }

  /** Waits until its handler's rate lets it start; it was granted ahead, by less than a second. */
  private async untilStart(inMs: number): Promise<void> {
    const until = performance.now() + inMs;
    while (!this.stopping && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, Math.min(50, until - performance.now())));
  }

  /** Sends a batch; unsent: it must not be sent, or not by this submitter. */
  private async send(callers: CallerDeps, batch: CarriedBatch): Promise<{ call: Call; outcome: CallEnd } | Unsent> {
    const { timeoutMs } = callers.handler;
    const fence = fenceOf(callers.use);
    const mark = {
      id: batch.id,
      attempt: batch.attempt,
      submitter: this.input.no,
      timeoutMs: timeoutMs + MARK_LATE_MS,
      ...(fence === null ? {} : { fence }),
    };
    const { members, marked, markedAtMs } = await this.deps.laneMarks.prepare([mark]);
    if (!marked.has(batch.id)) return UNMARKED;
    // Stopped since the claim was checked: the next holder relies on a call ending before the mark
    // does.
    const isLate = (): boolean => performance.now() - markedAtMs > MARK_LATE_MS || callers.use?.isHeld() === false;
    const attempt = batch.attempt + 1;
    if (isLate() || !(await mayStart(callers, batch, isLate))) return { attempt };
    return makeCall(callers, { batch, members, attempt, markedAtMs, fence });
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
    // The first one that the downstream has: the monitor may have ended. Where there is an older
    // one, the monitor runs. Not awaited before the slot's next batch: the Temporal server may take
    // its time, and the sweeper repeats a lost wake.
    if (settled.accepted && (await isFirstAccepted(this.deps.pool, batch.handler, batch.id)))
      this.launch(wakeMonitor(this.deps.temporal, this.deps.prefix, batch.handler));
  }

  /**
   * Gives up slots: those that come free together are given up together, then, after the commit, in
   * a new snapshot, work that came meanwhile is offered to any free submitter.
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

  /**
   * Runs one tick at a time: where the store takes longer than a tick, the submitter could not end.
   */
  private async tick(): Promise<void> {
    Context.current().heartbeat();
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
    const { pool, temporal, prefix } = this.deps;
    const { queuerId, no, epoch } = this.input;
    if (this.hasNotifications)
      await awaitBriefly(this.deps, wakeNotifier(temporal, prefix), 'the notifier was not woken');
    const handedBack = this.handedBack + (await recoverBatches(pool, [no])).length; // granted and not sent
    await deleteSubmitter(pool, no);
    const released = await releaseQueuer(pool, queuerId, epoch);
    if (!released) await wakeQueuersOf(this.deps, [queuerId]);
    return { batches: this.batches, tasks: this.tasks, handedBack, released };
  }
}

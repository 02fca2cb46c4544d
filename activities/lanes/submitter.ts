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
import { settle } from '../calls/settle';
import type { Call } from '../calls/call';

const TICK_MS = 1_000;
/**
 * Between a mark and its call nothing is waited for: a process that was stopped there takes the
 * mark back, and its call is not made.
 */
const MARK_LATE_MS = 2_000;

/** A batch that was not called, and the attempt that was marked for it; null: none was. */
interface Unsent {
  attempt: number | null;
}
const UNMARKED: Unsent = { attempt: null };

/**
 * The submission of a queuer's grants: each of its slots carries one batch at a time (C2), settles
 * it, and grants itself the next one in turn. It ends when nothing more may go, at the soft
 * deadline, or when it was taken for dead.
 */
export class LaneSubmission {
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
  private notices = false;
  private failure: unknown;
  private changed: () => void = () => undefined;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly input: DispatchInput & { queuerId: number },
    private readonly signal: AbortSignal,
    /** Nothing more is begun. */
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

  /**
   * A slot at work: one batch from its grant to its settlement, then the next, while there is one.
   */
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
   * What is not sent goes back at once, whatever the reason: the other slots may have calls for as
   * long as the submission lives, and while it lives nobody else takes the batch.
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

  /** Null: its call was made, or an earlier one concluded. */
  private async carryUnder(batch: CarriedBatch, handler: Handler, use: PartitionUse | null): Promise<Unsent | null> {
    const callers: CallerDeps = {
      ...this.deps,
      handler,
      input: this.input,
      signal: this.signal,
      standing: this.deps.standings.lane,
      use,
    };
    if (batch.startInMs > 0) await this.untilStart(batch.startInMs);
    if (this.stopping) return UNMARKED;
    const ended = batch.unconcluded ? await concludeEarlier(callers, batch) : await this.send(callers, batch);
    if (!('outcome' in ended)) return ended;
    await this.settle(ended);
    return null;
  }

  /** Its handler's rate lets it start then (G1); granted ahead, within a second. */
  private async untilStart(inMs: number): Promise<void> {
    const until = performance.now() + inMs;
    while (!this.stopping && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, Math.min(50, until - performance.now())));
  }

  /** Unsent: it must not be sent (C29), or not by us. */
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
    // Stopped since the claim was looked at: whoever took over counts on a call that ends before
    // the mark does.
    const isLate = (): boolean => performance.now() - markedAtMs > MARK_LATE_MS || callers.use?.isHeld() === false;
    const attempt = batch.attempt + 1;
    if (isLate() || !(await mayStart(callers, batch, isLate))) return { attempt };
    return makeCall(callers, { batch, members, attempt, markedAtMs, fence });
  }

  private async settle({ call, outcome }: { call: Call; outcome: CallEnd }): Promise<void> {
    const { batch } = call;
    const settled = await settle(call, outcome);
    if (!settled.written) {
      this.deps.log.info(
        { batch: batch.id, attempt: call.attempt },
        'the answer came too late: a newer attempt exists',
      );
      return;
    }
    this.batches++;
    this.tasks += call.members.length;
    this.notices ||= settled.notices;
    // The first of those that the downstream has: the monitor may have ended. Where there is an
    // older one, it goes on. Beside the slot's next batch: the Temporal server may take its time,
    // and the sweeper stands behind.
    if (settled.accepted && (await isFirstAccepted(this.deps.pool, batch.handler, batch.id)))
      this.launch(wakeMonitor(this.deps.temporal, this.deps.prefix, batch.handler));
  }

  /**
   * Slots that come free together are given up together, then, after the commit, in a new snapshot:
   * something that came since is for whoever is free (store.md section 1).
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

  /** One at a time: where the store takes longer than a tick, the submission could not end. */
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
    if (this.notices) await awaitBriefly(this.deps, wakeNotifier(temporal, prefix), 'the notifier was not woken');
    const handedBack = this.handedBack + (await recoverBatches(pool, [no])).length; // granted and not sent
    await deleteSubmitter(pool, no);
    const released = await releaseQueuer(pool, queuerId, epoch);
    if (!released) await wakeQueuersOf(this.deps, [queuerId]);
    return { batches: this.batches, tasks: this.tasks, handedBack, released };
  }
}

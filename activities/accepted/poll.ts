import { ApplicationFailure, Context } from '@temporalio/activity';
import type { MonitorInput, PollAnswer } from '../../workflows/definitions';
import { readAccepted } from '../../postgres/calls/batch';
import { monitorLook } from '../../postgres/sweeper/overdueWork';
import { haltHandler, haltTarget, nextPollInMs, pastDeadline, putOffPolls } from '../../postgres/accepted/poll';
import { Cancellations } from './cancellations';
import { Conclusions, GRACE_ROUNDS } from './conclusions';
import type { AcceptedBatch } from './conclusions';
import { sealError } from '../codec/sealed';
import type { ActivityDeps } from '../deps';
import type { PollOutcome } from '../../handlers';
import { pollReferences } from '../../handlers';
import { LookSign } from './lookSign';
import { boundLog } from '../../handlers/logging/boundLog';
import { cutText } from '../../handlers/text';
import { parkedAtDeadline } from '../../workflows/planning/lanes/pendingDeadline';
import type { Handler } from '../../handlers/types';
import type { ReferenceStatus } from '../../handlers/contract';
import { TICK_MS } from '../tick';

/** References per status request. */
const ASK = 100;
/**
 * Waits up to this long for the next status request about a lane batch are spent in the activity.
 */
const HERE_MS = 250;
/** Delay that lets batches due at about the same time share one request. */
const COALESCE_MS = 20;
/**
 * No new status request after this: the next look begins a fresh activity. Results that are being
 * read may take longer.
 */
const SOFT_LIMIT_MS = 10 * 60_000;

/**
 * Looks once at the batches that the downstream of a handler accepted: polls those that are due,
 * many per request, and concludes those that ended while it goes on polling the others. Ends when
 * nothing is due and nothing is being read.
 */
export const pollAccepted = async (deps: ActivityDeps, { handler: name }: MonitorInput): Promise<PollAnswer> => {
  const handler = deps.handlers.get(name);
  if (handler === undefined)
    throw ApplicationFailure.create({
      type: 'UnknownHandler',
      message: `this worker has no handler ${name}; it has ${[...deps.handlers.keys()].join(', ')}`,
    });
  const context = Context.current();
  const conclusions = new Conclusions(deps, handler, context.cancellationSignal);
  const sign = new LookSign(deps.pool, monitorLook(name));
  const run = new PollRun(deps, handler, conclusions, sign, context.cancellationSignal);
  const cancellations = new Cancellations(deps, handler, context.cancellationSignal);
  const cancelling = cancellations.run();
  cancelling.catch(() => undefined); // awaited below
  // Renews the leases of batches in hand and rings what was settled, however long one batch's
  // results take.
  const ticker = setInterval(() => {
    sign.beat();
    context.heartbeat({ settled: conclusions.settled, at: conclusions.steps.shown() }); // shown in the Web UI
    conclusions.tick();
  }, TICK_MS);
  try {
    const answer = await run.run();
    cancellations.end();
    return { ...answer, dueInMs: sooner(answer.dueInMs, await cancelling) };
  } finally {
    cancellations.end();
    await cancelling.catch(() => undefined);
    clearInterval(ticker);
    await conclusions.end();
  }
};

const sooner = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b);

const groupByTarget = (batches: readonly AcceptedBatch[]): AcceptedBatch[][] => {
  const groups = new Map<number, AcceptedBatch[]>();
  for (const batch of batches) groups.set(batch.targetId, [...(groups.get(batch.targetId) ?? []), batch]);
  return [...groups.values()];
};

/** One look, which an activity makes, or a simulated world. */
export class PollRun {
  private asked = 0;
  private inLanes = false;
  private lastError: string | undefined;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly handler: Handler,
    private readonly conclusions: Conclusions,
    private readonly sign: Pick<LookSign, 'give'>,
    private readonly signal: AbortSignal,
    /** Below 0 where the store's clock does not go on during a look. */
    private readonly waitsHereMs = HERE_MS,
  ) {}

  async run(): Promise<PollAnswer> {
    const until = performance.now() + SOFT_LIMIT_MS;
    for (;;) {
      const mayAsk =
        !this.signal.aborted && !this.deps.draining.aborted && performance.now() < until && this.conclusions.hasRoom();
      const due = mayAsk ? await readAccepted(this.deps.pool, this.handler.name, ASK) : [];
      this.asked += due.length;
      if (due.length > 0) await this.ask(due);
      else if (!this.conclusions.isEmpty())
        await this.conclusions.nextChange(mayAsk && this.inLanes ? COALESCE_MS : TICK_MS);
      else {
        await this.conclusions.flush();
        const dueInMs = await nextPollInMs(this.deps.pool, this.handler.name);
        // Wait here: the lane is stalled until then, and a workflow timer plus a new activity would
        // take longer.
        if (mayAsk && this.inLanes && dueInMs !== null && dueInMs <= this.waitsHereMs)
          await this.conclusions.nextChange(dueInMs + COALESCE_MS);
        else return this.answer(dueInMs);
      }
    }
  }

  private answer(dueInMs: number | null): PollAnswer {
    const { asked, lastError } = this;
    const did = { asked, settled: this.conclusions.settled, dueInMs };
    return lastError === undefined ? did : { ...did, lastError };
  }

  private async ask(due: readonly AcceptedBatch[]): Promise<void> {
    this.inLanes ||= due.some((batch) => batch.inLane);
    const outcome = await pollReferences(
      this.handler,
      due.map((batch) => batch.reference),
      { signal: this.signal, log: boundLog(this.deps.log, { handler: this.handler.name }) },
    );
    if (!this.signal.aborted) this.sign.give();
    if (outcome.kind === 'statuses') {
      const pending: { batch: AcceptedBatch; error: string | null }[] = [];
      for (const [i, status] of outcome.statuses.entries())
        if (!this.take(due[i]!, status)) pending.push({ batch: due[i]!, error: status.error ?? null });
      await this.putOff(pending, this.handler.poll.everyMs);
      await this.conclusions.start();
      return;
    }
    if (this.signal.aborted) return; // not polled: they stay due
    const targets = groupByTarget(due);
    // Only a request about a single target shows which target cannot be polled.
    if (outcome.kind === 'halted' && outcome.scope === 'target' && targets.length > 1)
      for (const ofTarget of targets) await this.ask(ofTarget);
    else await this.unanswered(due, outcome);
  }

  /**
   * Processes the status of one batch. Returns false if the batch is pending and within its
   * deadline.
   */
  private take(batch: AcceptedBatch, { status, error }: ReferenceStatus): boolean {
    const why = error === undefined ? '' : `: ${error}`;
    switch (status) {
      case 'pending':
        if (!batch.overdue) return false;
        this.passDeadline(batch, `pending at its deadline (poll.deadlineMs)${why}`);
        return true;
      case 'done':
        this.conclusions.add(batch, { kind: 'read' });
        return true;
      case 'expired':
        this.conclusions.add(batch, {
          kind: 'read',
          missing: { status: 'retry', error: `not done when its batch expired${why}` },
        });
        return true;
      case 'failed':
        this.conclusions.add(batch, {
          kind: 'rejected',
          error: error ?? 'the downstream failed the batch and gave no reason',
        });
        return true;
      case 'lost':
        this.conclusions.add(batch, {
          kind: 'unknown',
          error: `the downstream does not know ${batch.reference}${why}`,
          knownStatus: 'lost',
        });
        return true;
    }
  }

  /**
   * Handles a batch that was polled after its deadline and is not done. In a lane it is unknown a
   * few times, then its lane is parked; elsewhere it is looked up.
   */
  private passDeadline(batch: AcceptedBatch, error: string): void {
    const { deadlinesPassed } = batch;
    const reason = deadlinesPassed === null ? null : parkedAtDeadline(deadlinesPassed + 1, this.handler.lane.deadlines);
    if (reason !== null) this.conclusions.add(batch, { kind: 'park', reason: `${reason} (${error})` });
    else this.conclusions.add(batch, { kind: 'unknown', error, knownStatus: 'pending' });
  }

  /**
   * Postpones batches whose status request went unanswered, and records the reason; those past
   * their grace become unknown.
   */
  private async unanswered(
    due: readonly AcceptedBatch[],
    outcome: Exclude<PollOutcome, { kind: 'statuses' }>,
  ): Promise<void> {
    const { everyMs } = this.handler.poll;
    const sealed = await sealError(this.deps.sealer, cutText(outcome.error));
    this.lastError = sealed;
    if (outcome.kind === 'halted') await this.halt(due[0]!.targetId, outcome.scope, sealed);
    const overdue = due.filter((batch) => batch.overdue).map((batch) => batch.id);
    const past =
      overdue.length === 0 ? new Set<number>() : await pastDeadline(this.deps.pool, overdue, GRACE_ROUNDS * everyMs);
    const error = `its status could not be polled: ${outcome.error}`;
    for (const batch of due) if (past.has(batch.id)) this.passDeadline(batch, error);
    const waitMs = Math.max(everyMs, outcome.kind === 'later' ? (outcome.retryAfterMs ?? 0) : 0);
    await this.putOff(
      due.filter((batch) => !past.has(batch.id)).map((batch) => ({ batch, error })),
      waitMs,
    );
    await this.conclusions.start();
  }

  /** `targetId`: the target of all the batches that were polled, if it is only one. */
  private halt(targetId: number, scope: 'target' | undefined, error: string): Promise<void> {
    return scope === 'target'
      ? haltTarget(this.deps.pool, targetId, error)
      : haltHandler(this.deps.pool, this.handler.name, error);
  }

  private async putOff(
    batches: readonly { batch: AcceptedBatch; error: string | null }[],
    inMs: number,
  ): Promise<void> {
    if (batches.length === 0) return;
    await putOffPolls(
      this.deps.pool,
      await Promise.all(
        batches.map(async ({ batch: { id, attempt }, error }) => ({
          id,
          attempt,
          error: error === null ? null : await sealError(this.deps.sealer, error),
        })),
      ),
      inMs,
    );
  }
}

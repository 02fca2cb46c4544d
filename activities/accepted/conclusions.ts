import { pastDeadline, putOffPolls, stopPolling, claimRead } from '../../postgres/accepted/poll';
import { readMemberIds } from '../../postgres/calls/members';
import { Coalescer } from '../../postgres/sharing/coalescer';
import { claimReads } from '../../postgres/accepted/readClaims';
import type { ActivityDeps } from '../deps';
import type { CarriedBatch } from '../../postgres/calls/batch';
import type { Handler } from '../../handlers/types';
import type { Missing } from '../../handlers';
import { readReference } from '../../handlers';
import { releaseDependents } from '../grouping/dependents';
import { freeTargets } from '../grouping/freeTargets';
import { ringLanes } from '../lanes/ring';
import { lookUpAccepted } from './lookUp';
import type { AskAgain, LookUp } from './lookUp';
import { Steps } from './steps';
import { sealError } from '../codec/sealed';
import { settle } from '../calls/settle';
import { logOf, toCall } from '../calls/request';
import { recordReported } from '../tracing/acceptedSpan';
import type { CallEnd } from '../calls/door';
import { homeOf } from '../homes';
import type { Call } from '../calls/call';

/** `deadlinesPassed`: how many it has passed, of a lane batch; null: it is in no lane. */
export type AcceptedBatch = CarriedBatch & {
  reference: string;
  overdue: boolean;
  leaderId: number;
  deadlinesPassed: number | null;
};

/** The downstream's report on a batch that it had accepted, other than pending. */
export type Conclusion =
  /**
   * Results are available; `missing`: what happens to members without a result (in an expired batch
   * they are retried).
   */
  | { kind: 'read'; missing?: Missing }
  /**
   * The downstream refused the batch after all, for its content (when it validated the whole input,
   * say), and applied nothing of it: handled as a refusal at submit, so the batch is bisected. A
   * downstream that fails half-way must say `expired` or `done`, with results.
   */
  | { kind: 'rejected'; error: string }
  | { kind: 'unknown'; error: string; knownStatus: 'pending' | 'lost' }
  /** A lane batch was pending for too long; an operator must decide. */
  | { kind: 'park'; reason: string };

/** How long the next monitor waits for a dead one; longer than a few ticks. */
const LEASE_MS = 6_000;
/**
 * Batches whose results are read concurrently: each holds a page and its members' ids in memory.
 */
const PARALLELISM = 4;
/** Most batches in hand: status requests are sent only while there is room. */
const MOST_IN_HAND = 100;
/** Rounds for which a batch past its deadline is still polled, if no request was answered. */
export const GRACE_ROUNDS = 10;

/**
 * Concludes accepted batches while others are polled: a few at a time, each settled by itself, then
 * their targets rung.
 */
export class Conclusions {
  settled = 0;
  readonly steps = new Steps();
  private readonly added: { batch: AcceptedBatch; conclusion: Conclusion }[] = [];
  private readonly waiting: { batch: AcceptedBatch; conclusion: Conclusion }[] = [];
  /** Batches in hand, with the attempt number under which each is read. */
  private readonly inHand = new Map<number, number>();
  /** The attempt number under which each waiting batch is to be read. */
  private readonly taken = new Map<number, number>();
  private readonly running = new Set<Promise<void>>();
  private readonly freed = new Set<number>();
  /** Lanes to ring: one ring is in flight at a time; lanes added in the meantime share the next. */
  private readonly rings = new Coalescer<number>((lanes) => ringLanes(this.deps, lanes));
  private hasNotifications = false;
  private failure: unknown;
  private changed: () => void = () => undefined;

  constructor(
    private readonly deps: ActivityDeps,
    private readonly handler: Handler,
    private readonly signal: AbortSignal,
  ) {}

  hasRoom(): boolean {
    return this.inHand.size < MOST_IN_HAND;
  }

  isEmpty(): boolean {
    if (this.failure !== undefined && this.running.size === 0) throw this.failure;
    return this.inHand.size === 0;
  }

  add(batch: AcceptedBatch, conclusion: Conclusion): void {
    this.added.push({ batch, conclusion });
    this.inHand.set(batch.id, batch.attempt);
  }

  /**
   * Claims all added batches in one statement, so that they are not polled again, and starts to
   * conclude them.
   */
  async start(): Promise<void> {
    const added = this.added.splice(0);
    if (added.length > 0) await this.takeAll(added);
    while (this.running.size < PARALLELISM && this.waiting.length > 0) this.launch(this.runner());
  }

  /** Renews the leases and rings what was settled, every few seconds. */
  tick(): void {
    this.launch(this.renew().then(() => this.flush()));
  }

  /** Waits until something ended, at most `ms`. */
  async nextChange(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.changed = resolve;
      timer = setTimeout(resolve, ms);
    });
    clearTimeout(timer);
  }

  /**
   * Waits until all conclusions have ended. Rings what was settled even if another conclusion
   * failed.
   */
  async end(): Promise<void> {
    await Promise.allSettled(this.running);
    await this.rings.idle();
    await this.flush();
  }

  /**
   * Rings targets whose batches ended: weight and slots that those held are free, and tasks may
   * have come back.
   */
  async flush(): Promise<void> {
    const targets = [...this.freed];
    this.freed.clear();
    const hasNotifications = this.hasNotifications;
    this.hasNotifications = false;
    await freeTargets(this.deps, this.handler.name, targets, hasNotifications);
  }

  private async renew(): Promise<void> {
    const { steps } = this;
    const held = [...this.inHand].map(([id, attempt]) => ({ id, attempt, error: null, readAgoMs: steps.quietMs(id) }));
    if (held.length > 0) await putOffPolls(this.deps.pool, held, LEASE_MS);
  }

  private async runner(): Promise<void> {
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      const { batch, conclusion } = next;
      try {
        if (this.signal.aborted || this.deps.draining.aborted || this.failure !== undefined)
          await this.postpone(batch, this.taken.get(batch.id) ?? batch.attempt, 0, null);
        else await this.conclude(batch, conclusion);
      } finally {
        this.inHand.delete(batch.id);
        this.taken.delete(batch.id);
        this.steps.end(batch);
        this.changed();
      }
    }
  }

  private async conclude(batch: AcceptedBatch, conclusion: Conclusion): Promise<void> {
    this.steps.begin(batch, 'taking it');
    let call = await this.take(batch, batch.attempt);
    if (call === null) return;
    let outcome: CallEnd | AskAgain | LookUp;
    // The batch was polled and is not done in time: a lane batch counts the deadline, whatever a
    // look-up finds.
    call.overdue = batch.overdue && (conclusion.kind === 'unknown' || conclusion.kind === 'park');
    if (conclusion.kind === 'park') {
      call.park = conclusion.reason;
      return this.settle(call, { kind: 'unknown', error: conclusion.reason });
    }
    if (conclusion.kind === 'read') outcome = await this.read(call, batch, conclusion.missing);
    else if (conclusion.kind === 'unknown') outcome = { ...conclusion, kind: 'look-up', overdue: batch.overdue };
    else outcome = { kind: 'rejected', error: conclusion.error };
    if (outcome.kind === 'look-up') {
      // Under a separate attempt: pages of an answer that broke off must not mix with those of the
      // look-up.
      const { overdue } = call;
      call = await this.take(batch, call.attempt);
      if (call === null) return;
      call.overdue = overdue ?? false;
      this.steps.begin(batch, 'looking it up');
      outcome = await lookUpAccepted(this.deps, call, { ...batch, overdue: outcome.overdue }, outcome, this.signal);
    }
    // It says nothing then.
    if (this.signal.aborted && outcome.kind !== 'results') return this.postpone(batch, call.attempt, 0, null);
    if (outcome.kind === 'ask-again') return this.postpone(batch, call.attempt, outcome.inMs, outcome.error);
    await this.settle(call, outcome);
  }

  private async takeAll(added: readonly { batch: AcceptedBatch; conclusion: Conclusion }[]): Promise<void> {
    const taken = await claimReads(
      this.deps.pool,
      added.map(({ batch }) => batch),
      LEASE_MS,
    );
    for (const one of added) {
      const attempt = taken.get(one.batch.id);
      if (attempt === undefined) {
        this.inHand.delete(one.batch.id); // another process has it, or it has ended
        continue;
      }
      this.taken.set(one.batch.id, attempt);
      this.inHand.set(one.batch.id, attempt);
      this.waiting.push(one);
    }
  }

  /** Takes the batch; null: it was completed from outside, or another monitor has it. */
  private async take(batch: AcceptedBatch, expected: number): Promise<Call | null> {
    const { pool, homes } = this.deps;
    const known = this.taken.get(batch.id);
    this.taken.delete(batch.id);
    const attempt = known ?? (await claimRead(pool, batch.id, expected, LEASE_MS));
    if (attempt === null) return null;
    this.inHand.set(batch.id, attempt);
    const members = await readMemberIds(pool, [batch.id]);
    const callers = { handler: this.handler, home: homeOf(homes, batch) };
    return toCall(callers, { batch: { ...batch, attempt }, members, attempt });
  }

  private async read(
    call: Call,
    batch: AcceptedBatch,
    missing: Missing | undefined,
  ): Promise<CallEnd | AskAgain | LookUp> {
    this.steps.begin(batch, 'reading its results');
    const { everyMs } = this.handler.poll;
    const { reference } = batch;
    const read = await readReference(
      this.handler,
      reference,
      call.members,
      { signal: this.signal, log: logOf(this.deps.log, call), onResult: () => this.steps.goesOn(batch) },
      call.pages,
      missing,
    );
    if (read.kind === 'results') return read;
    const past = await pastDeadline(this.deps.pool, [batch.id], GRACE_ROUNDS * everyMs);
    const error = `its results could not be read: ${read.error}`;
    if (read.kind === 'unread' && !past.has(batch.id)) return { kind: 'ask-again', inMs: everyMs, error };
    return { kind: 'look-up', error, knownStatus: 'pending', overdue: true };
  }

  private async settle(call: Call, outcome: CallEnd): Promise<void> {
    const { batch } = call;
    this.steps.begin(batch, 'settling it');
    const settled = await settle(call, outcome);
    if (!settled.written) {
      this.deps.log.info(
        { batch: batch.id, attempt: call.attempt },
        'an accepted batch was concluded by another process',
      );
      return;
    }
    recordReported(call, outcome);
    this.settled++;
    this.hasNotifications ||= settled.hasNotifications;
    if (settled.awaited) await releaseDependents(this.deps);
    // Refused in a first split: its other half decides, so polling ends.
    if (settled.kind === 'await-sibling') await stopPolling(this.deps.pool, batch.id, call.attempt);
    // Not awaited before the next batch's results: a ring may wait for the Temporal server.
    void this.rings.add(settled.lanes).catch((error: unknown) => (this.failure ??= error));
    if (call.home.rules.holdsTarget) this.freed.add(batch.targetId);
  }

  private async postpone(batch: AcceptedBatch, attempt: number, inMs: number, error: string | null): Promise<void> {
    this.inHand.delete(batch.id); // or a tick could lease it again
    const sealed = error === null ? null : await sealError(this.deps.sealer, error);
    return putOffPolls(this.deps.pool, [{ id: batch.id, attempt, error: sealed }], inMs);
  }

  private launch(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) => {
        this.failure ??= error;
        for (const { batch } of this.waiting.splice(0)) {
          this.inHand.delete(batch.id); // their leases pass
          this.taken.delete(batch.id);
        }
      })
      .finally(() => {
        this.running.delete(tracked);
        this.changed();
      });
    this.running.add(tracked);
  }
}

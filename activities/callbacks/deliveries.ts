import { setTimeout as sleep } from 'node:timers/promises';
import { returnNotifications, takeDueNotifications } from '../../postgres/callbacks/notification';
import type { TakenNotification } from '../../postgres/callbacks/notification';
import { outlast } from '../../postgres/outage';
import type { UnderWay } from '../../workflows/planning/callbacks/turns';
import { aheadOf, DELIVERY_LIMITS, fullHosts, nextDelivery } from '../../workflows/planning/callbacks/turns';
import type { ActivityDeps } from '../deps';

/** Notifications claimed ahead of delivery. */
const TAKE = 64;
/** Lease of a claimed notification: longer than its delivery and the deliveries before it. */
const LEASE_MS = 60_000;
/** How long it is tried to return what was claimed; then the lease makes it due. */
const RETURN_MS = 10_000;
/**
 * After the soft deadline a look goes on for as long as a delivery may take, while some of its
 * deliveries are in progress: with notifications that were never tried, which do not wait for them.
 */
const LATE_MS = 10_000;
/** The same while a delivery goes on that takes longer, since its message has many parts. */
const LONG_MS = 60_000;

interface Options {
  deps: Pick<ActivityDeps, 'pool' | 'softDeadlineMs'>;
  /** Delivers one notification, and writes the result. */
  settle: (one: TakenNotification) => Promise<void>;
  isStopping: () => boolean;
}

/**
 * Runs the deliveries of one look: takes what is due, and delivers several at once
 * (`nextDelivery`).
 */
export class Deliveries {
  private readonly waiting: TakenNotification[] = [];
  private readonly underWay = new Map<Promise<void>, UnderWay>();
  private failure: { reason: unknown } | null = null;
  private takenAt = 0;
  /** The last claim reached its limit: more may be due. */
  private isMore = true;
  /** The last claim skipped some hosts. */
  private isLeft = false;

  constructor(private readonly options: Options) {}

  /**
   * Runs until nothing is due, or until the soft deadline. Rejects as `settle` does, after all have
   * ended.
   */
  async run(): Promise<void> {
    const until = performance.now() + this.options.deps.softDeadlineMs;
    for (;;) {
      const takes = this.takes(until);
      if (takes !== null && this.isTime()) await this.take(takes).catch((reason: unknown) => this.fail(reason));
      if (this.failure !== null) await this.returnWaiting();
      this.begin();
      if (this.underWay.size > 0) await this.awaitOne();
      else if (this.takes(until) === null || !(this.isMore || this.isLeft)) break;
    }
    if (this.failure !== null) throw this.failure.reason;
  }

  private fail(reason: unknown): void {
    this.failure ??= { reason };
  }

  /** Else they would wait for their leases, which is seen as a delivery that is under way. */
  private async returnWaiting(): Promise<void> {
    const waiting = this.waiting.splice(0);
    if (waiting.length === 0) return;
    const { pool } = this.options.deps;
    const work = (): Promise<void> => returnNotifications(pool, waiting);
    const signal = AbortSignal.timeout(RETURN_MS);
    await outlast(work, { signal, onOutage: () => undefined }).catch(() => undefined);
  }

  /** Returns what may be claimed now; null: nothing more in this look. */
  private takes(until: number): { firstOnly: boolean } | null {
    if (this.failure !== null || this.options.isStopping()) return null;
    const lateMs = performance.now() - until;
    if (lateMs < 0) return { firstOnly: false };
    const isLong = [...this.underWay.values()].some(({ sinceMs }) => sinceMs < until);
    return this.underWay.size > 0 && lateMs < (isLong ? LONG_MS : LATE_MS) ? { firstOnly: true } : null;
  }

  private isTime(): boolean {
    if (this.waiting.length >= TAKE / 2) return false;
    if (this.waiting.length === 0 && this.underWay.size === 0) return true; // nothing else would be awaited
    return this.isMore || performance.now() - this.takenAt >= DELIVERY_LIMITS.slowMs;
  }

  private async take({ firstOnly }: { firstOnly: boolean }): Promise<void> {
    const { waiting, underWay, options } = this;
    const except = fullHosts(waiting, [...underWay.values()]);
    const taken = await takeDueNotifications(options.deps.pool, {
      limit: TAKE,
      leaseMs: LEASE_MS,
      except,
      perHost: aheadOf(),
      firstOnly,
    });
    waiting.push(...taken);
    this.takenAt = performance.now();
    this.isMore = taken.length >= aheadOf();
    this.isLeft = except.length > 0;
  }

  private begin(): void {
    if (this.failure !== null) return; // of the store: those that wait are returned
    for (let at = this.next(); at >= 0; at = this.next()) {
      const [one] = this.waiting.splice(at, 1);
      const delivery: Promise<void> = this.options
        .settle(one!)
        .catch((reason: unknown) => this.fail(reason))
        .finally(() => this.underWay.delete(delivery));
      this.underWay.set(delivery, { host: one!.host, sinceMs: performance.now() });
    }
  }

  /** Returns the next one to deliver; when the process stops, waiting ones are only put back. */
  private next(): number {
    if (this.options.isStopping()) return this.waiting.length - 1;
    return nextDelivery(this.waiting, [...this.underWay.values()], performance.now());
  }

  /** Waits until a delivery ends and makes room, or until a slow delivery counts for less. */
  private async awaitOne(): Promise<void> {
    if (this.underWay.size === 0) return;
    const over = new AbortController();
    const tick = sleep(DELIVERY_LIMITS.slowMs, undefined, { signal: over.signal }).catch(() => undefined);
    await Promise.race([tick, ...this.underWay.keys()]);
    over.abort();
  }
}

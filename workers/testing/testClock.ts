import { setTimeout as sleep } from 'node:timers/promises';
import type { Duration } from '@temporalio/common';
import { overdueHandlers } from '../../postgres/accepted/poll';
import { hasOverdueNotifications } from '../../postgres/callbacks/notification';
import type { Pool } from '../../postgres/pool';
import * as store from '../../postgres/testing/clock';
import { durationMs } from './duration';
import type { Requests } from '../../workflows/temporal/requests';
import { wakeLeaderWorkflows, wakeMonitor, wakeNotifier, wakeQueuerWorkflows } from '../../workflows/wake';

/** How often what is under way is counted, in milliseconds. */
const LOOK_MS = 10;
/** A look at several rows is not one instant: nothing is under way if two in a row say so. */
const CALM_LOOKS = 2;
/** How long calls are waited for that the test itself may be holding up. */
const CALLS_MS = 2_000;
/** How long decisions are waited for: longer than the sweeper takes to repeat a lost wake. */
const DECISIONS_MS = 30_000;

/**
 * The store's clock in a test. It goes on by itself, as a clock does, and `advance` moves it ahead:
 * lingers, retries, `notBefore`, holds and polls come when they are due by it.
 *
 * It goes from one due instant to the next, and at each waits until what was due has been done, so
 * that batches are the same as if that time had been waited for. Two things do not move: time
 * limits of calls in flight, and what executions wait for (they take real time).
 */
export class TestClock {
  /** @internal */
  constructor(
    private readonly pool: Pool,
    private readonly requests: Requests,
    private readonly prefix: string,
  ) {}

  /** Returns the store's time as Unix milliseconds, for `notBefore`. */
  now(): Promise<number> {
    return store.readClock(this.pool);
  }

  /**
   * Moves the clock ahead, by milliseconds or as text (`'2s'`, `'1 hour'`), and resolves when what
   * fell due on the way has been done. A call that is still in flight after 2 s is not waited for.
   * Never twice at once.
   */
  async advance(by: Duration): Promise<void> {
    let leftMs = durationMs('advance the clock', by);
    await this.settled();
    while (leftMs > 0) {
      const inMs = await store.readNextInstant(this.pool);
      const step = Math.min(leftMs, Math.max(1, Math.ceil(inMs ?? leftMs)));
      await store.moveClock(this.pool, step);
      leftMs -= step;
      await this.wakeDue();
      await this.settled();
    }
  }

  /**
   * Resolves when nothing is under way that is due now. A call that is still in flight after 2 s is
   * not waited for.
   */
  async settled(): Promise<void> {
    const begunAt = performance.now();
    for (let calm = 0; calm < CALM_LOOKS;) {
      const { deciding, unrung, calling } = await store.readUnrest(this.pool);
      const waitedMs = performance.now() - begunAt;
      const isCalm = deciding + unrung === 0 && (calling === 0 || waitedMs > CALLS_MS);
      calm = isCalm ? calm + 1 : 0;
      if (!isCalm && waitedMs > DECISIONS_MS)
        throw new Error(
          `Cannot settle: expected no leader at work after ${DECISIONS_MS} ms, got ${deciding} at work and ` +
            `${unrung} targets that none was told of. Start with "log" to see why.`,
        );
      if (calm < CALM_LOOKS) await sleep(LOOK_MS);
    }
  }

  /** Tells all whose time has come: their own timers go by real time. */
  private async wakeDue(): Promise<void> {
    const { pool, requests, prefix } = this;
    const failures = [
      await wakeLeaderWorkflows(requests, prefix, await store.findDueLeaders(pool)),
      await wakeQueuerWorkflows(requests, prefix, await store.findDueQueuers(pool)),
    ];
    for (const handler of await overdueHandlers(pool, 0)) failures.push(await wakeMonitor(requests, prefix, handler));
    if (await hasOverdueNotifications(pool, 0)) failures.push(await wakeNotifier(requests, prefix));
    const failure = failures.find((one) => one !== null);
    if (failure != null) throw failure;
  }
}

import type { Logger } from 'pino';
import { overdueHandlers } from '../../postgres/accepted/poll';
import { hasOverdueNotifications } from '../../postgres/callbacks/notification';
import { NODE_LIVE_MS, servedHandlers } from '../../postgres/nodes/node';
import type { Pool } from '../../postgres/pool';
import type { Requests } from '../../workflows/temporal/requests';
import { wakeMonitor, wakeNotifier } from '../../workflows/wake';
import { BackOff } from './backOff';
import type { SweepCounts } from './counts';
import type { SilentRuns } from './silentRuns';

/** Younger than this, a notification or a status request is about to be taken. */
const OVERDUE_MS = 2_000;

/** Wakes the notifier and the monitors whose work has been due for longer than they let it wait. */
export class OverdueWakes {
  private readonly backOff = new BackOff();

  constructor(
    private readonly options: { pool: Pool; requests: Requests; prefix: string; log: Pick<Logger, 'warn'> },
    private readonly silent: Pick<SilentRuns, 'noteNotifier' | 'noteMonitors'>,
    private readonly counts: Pick<SweepCounts, 'notifierWakes' | 'monitorWakes'>,
  ) {}

  async wakeNotifier(): Promise<void> {
    const overdue = await hasOverdueNotifications(this.options.pool, OVERDUE_MS);
    this.silent.noteNotifier(overdue);
    if (!this.backOff.mayTry('notifier', overdue)) return;
    this.counts.notifierWakes++;
    this.noteFailure('notifier', await wakeNotifier(this.options.requests, this.options.prefix));
  }

  /**
   * If no live worker serves the handler, the monitor could only wait, and each wake would grow its
   * history.
   */
  async wakeMonitors(): Promise<void> {
    const overdue = await overdueHandlers(this.options.pool, OVERDUE_MS);
    const served = overdue.length === 0 ? [] : await servedHandlers(this.options.pool, NODE_LIVE_MS);
    const due = overdue.filter((handler) => served.includes(handler));
    this.silent.noteMonitors(due);
    this.backOff.keep((key) => key === 'notifier' || due.includes(key.slice('monitor/'.length)));
    for (const handler of due) {
      const key = `monitor/${handler}`;
      if (!this.backOff.mayTry(key, true)) continue;
      this.counts.monitorWakes++;
      this.noteFailure(key, await wakeMonitor(this.options.requests, this.options.prefix, handler));
    }
  }

  private noteFailure(key: string, error: Error | null): void {
    if (error !== null && this.backOff.wakeFailed(key))
      this.options.log.warn({ err: error, of: key }, 'sweeper: a wake failed; rounds try again every few seconds');
  }
}

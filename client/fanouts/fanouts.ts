import type { Connection } from '../connection';
import { wakeNotifierOf } from '../operations/wakeNotifier';
import { CHANGE, CHANGE_IN_STEPS, OPEN_FANOUT } from '../tasks/failureTexts';
import type { OpenFanoutOptions } from './check';
import type { CompletedFanout, FanoutView } from './fanout';
import * as fanouts from './fanout';
import { notifyOf } from './notify';
import type { ReapCounts, ReapOptions } from './reap';
import { reapFanouts } from './reap';
import type { WaitForFanoutOptions } from './waitFor';
import { waitForFanout } from './waitFor';

/** The verbs for fan-outs: `muster.fanouts`. The verbs for their items are in `muster.items`. */
export class Fanouts {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Opens a new, empty fan-out. With an `id` of your own the call may be repeated. Throws
   * `InvalidArgumentError` for an id that was opened before with other options.
   */
  async open(options: OpenFanoutOptions = {}): Promise<FanoutView> {
    const { connection } = this;
    // Not who is told of its end: the URL of a webhook may be a secret.
    const { id, userKey, segmentSize, tenant } = options;
    const subject = id === undefined ? 'fan-out' : `fan-out ${id}`;
    const act = { verb: 'open', subject, detail: { userKey, segmentSize, tenant } };
    return connection.change(OPEN_FANOUT, act, () => fanouts.openFanout(connection.pool, options));
  }

  /**
   * Seals the fan-out, so that no more items can be added. `completed` is set if every item was
   * already acked, or none was added: then this call reports the completion. Repeating a seal is
   * harmless. Throws `NotFoundError` for an unknown fan-out, and `FanoutStateError` for an expired
   * one.
   */
  async seal(
    fanout: string,
  ): Promise<{ state: 'sealed' | 'complete'; items: number; completed: CompletedFanout | null }> {
    const { connection } = this;
    const work = (): ReturnType<typeof fanouts.sealFanout> => fanouts.sealFanout(connection.pool, fanout);
    const act = { verb: 'seal', subject: `fan-out ${fanout}` };
    const { completed, ...sealed } = await connection.change(CHANGE, act, work);
    return { ...sealed, completed: completed === null ? null : (await notifyOf(connection, [completed]))[0]! };
  }

  /**
   * Returns a fan-out as it is now; null: it does not exist, or was deleted after its retention
   * period. `exact` counts the open items however large the fan-out is; default: only up to
   * 80,000,000 items.
   */
  async get(fanout: string, options?: { exact?: boolean }): Promise<FanoutView | null> {
    await this.connection.ready();
    return fanouts.getFanout(this.connection.pool, fanout, options);
  }

  /**
   * Resolves when the fan-out is complete. Throws `NotFoundError` for an unknown fan-out,
   * `FanoutStateError` if it has expired, and `FanoutTimeoutError` after `timeoutMs`.
   */
  async waitFor(fanout: string, options?: WaitForFanoutOptions): Promise<FanoutView> {
    await this.connection.ready();
    return waitForFanout(this.connection.pool, fanout, options);
  }

  /** Expires and deletes fan-outs now, by the given intervals, as the sweeper does on its own. */
  async reap(options: ReapOptions): Promise<ReapCounts> {
    const { connection } = this;
    const act = { verb: 'reap', subject: 'fan-outs', detail: options };
    const counts = await connection.change(CHANGE_IN_STEPS, act, () => reapFanouts(connection.pool, options));
    if (counts.told > 0) await wakeNotifierOf(connection);
    return counts;
  }
}

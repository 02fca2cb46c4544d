import type { Client as TemporalClient } from '@temporalio/client';
import type { CompletedRow } from '../../postgres/fanouts/fanout';
import type { Pool } from '../../postgres/pool';
import type { AckAnswer } from '../../workflows/contracts/fanout';
import { wakeNotifier } from '../../workflows/wake';
import type { AckOptions, ItemSource } from './ackItems';
import * as acks from './ackItems';
import type { AddItemsOptions, OpenFanoutOptions } from './check';
import type { AddedItems, CompletedFanout, FanoutView } from './fanout';
import * as fanouts from './fanout';
import type { ReapCounts, ReapOptions } from './reap';
import { reapFanouts } from './reap';
import * as tellings from '../tasks/telling';
import { telling, toldError } from '../tasks/telling';
import type { WaitForFanoutOptions } from './waitFor';
import { waitForFanout } from './waitFor';

/** What an ack changed: items named, those not acked before, and fan-outs that it completed. */
export type AckResult = AckAnswer;

/** A client's verbs for fan-outs. */
export abstract class FanoutVerbs {
  abstract readonly pool: Pool;
  abstract readonly prefix: string;
  abstract ready(): Promise<void>;
  abstract wakeFailed(error: Error): void;
  abstract wake(send: (temporal: TemporalClient) => Promise<Error | null>): Promise<void>;
  abstract temporal(): Promise<TemporalClient>;

  /** Opens a new, empty fan-out. With an `id` of your own it may be repeated. */
  async openFanout(options: OpenFanoutOptions = {}): Promise<FanoutView> {
    return this.write(tellings.OPEN_FANOUT, () => fanouts.openFanout(this.pool, options));
  }

  /**
   * Adds `n` items, 1 to 10^10, in statements of at most 10,000. Throws `NotFoundError`,
   * `FanoutStateError` after the seal; give a `key` to be able to repeat it.
   */
  async addItems(fanout: string, n: number, options?: AddItemsOptions): Promise<AddedItems> {
    return this.write(tellings.ADD_ITEMS, () => fanouts.addItems(this.pool, fanout, n, options));
  }

  /**
   * Adds items as a stream: each part is committed when it comes, so that sending begins while
   * adding goes on.
   */
  async *addItemsInParts(fanout: string, n: number, options?: AddItemsOptions): AsyncGenerator<AddedItems> {
    try {
      await this.ready();
      yield* fanouts.addItemsInParts(this.pool, fanout, n, options);
    } catch (error) {
      throw toldError(error, tellings.ADD_ITEMS);
    }
  }

  /**
   * Ends the adding. `completed`: all was acked before, or nothing added: this call reports the
   * completion. Throws `NotFoundError`, `FanoutStateError` of an expired one.
   */
  async sealFanout(
    fanout: string,
  ): Promise<{ state: 'sealed' | 'complete'; items: number; completed: CompletedFanout | null }> {
    const { completed, ...sealed } = await this.write(tellings.CHANGE, () => fanouts.sealFanout(this.pool, fanout));
    return { ...sealed, completed: completed === null ? null : (await this.tell([completed]))[0]! };
  }

  /**
   * Acks items: one id, many, or a stream of any length; in any order, of any fan-outs, any number
   * of times. `InvalidItemError` names invalid ids; nothing of their portion (100 ids,
   * `idsPerCall`) is applied.
   */
  async ackItems(ids: ItemSource, options?: AckOptions): Promise<AckResult> {
    const work = (): ReturnType<typeof acks.ackItems> => acks.ackItems(this.pool, ids, options);
    const { completed, ...acked } = await this.write(tellings.ACK_ITEMS, work);
    return { ...acked, completed: await this.tell(completed) };
  }

  /** Takes back mistaken acks, as long as their fan-out is not complete. */
  async reopenItems(ids: ItemSource, options?: AckOptions): Promise<{ items: number; reopened: number }> {
    const work = (): ReturnType<typeof acks.reopenItems> => acks.reopenItems(this.pool, ids, options);
    const { items, acked } = await this.write(tellings.ACK_ITEMS, work);
    return { items, reopened: acked };
  }

  /** Returns for each of at most 10,000 items whether it is acked, in their order. */
  async readItems(ids: readonly string[]): Promise<boolean[]> {
    await this.ready();
    return acks.readItems(this.pool, ids);
  }

  /** Returns a fan-out as it is now; null: there is none, or it was deleted after its end. */
  async getFanout(fanout: string, options?: { exact?: boolean }): Promise<FanoutView | null> {
    await this.ready();
    return fanouts.getFanout(this.pool, fanout, options);
  }

  /**
   * Resolves when it is complete. Throws `NotFoundError`, `FanoutStateError` when it has expired,
   * `FanoutTimeoutError` after `timeoutMs`.
   */
  async waitForFanout(fanout: string, options?: WaitForFanoutOptions): Promise<FanoutView> {
    await this.ready();
    return waitForFanout(this.pool, fanout, options);
  }

  /** Expires and deletes fan-outs now, with these intervals, as the sweeper does by itself. */
  async reapFanouts(options: ReapOptions): Promise<ReapCounts> {
    const counts = await this.write(tellings.CHANGE_IN_STEPS, () => reapFanouts(this.pool, options));
    if (counts.told > 0) await this.wakeTheNotifier();
    return counts;
  }

  private write<T>(told: tellings.Telling, work: () => Promise<T>): Promise<T> {
    return telling(told, async () => {
      await this.ready();
      return work();
    });
  }

  /**
   * Wakes the notifier. The messages are in the store, from the transaction of the completion; this
   * only makes them leave at once.
   */
  private async tell(completed: readonly CompletedRow[]): Promise<CompletedFanout[]> {
    if (completed.some(({ told }) => told)) await this.wakeTheNotifier();
    return completed.map(({ told: _, ...fanout }) => fanout);
  }

  private wakeTheNotifier(): Promise<void> {
    return this.wake((temporal) => wakeNotifier(temporal, this.prefix));
  }
}

import type { AckAnswer } from '../../workflows/contracts/fanout';
import type { Connection } from '../connection';
import { someOf } from '../operations/auditLog';
import { ACK_ITEMS, ADD_ITEMS, withOutcome } from '../tasks/failureTexts';
import type { AckOptions, ItemSource } from './ackItems';
import * as acks from './ackItems';
import type { AddItemsOptions } from './check';
import type { AddedItems } from './fanout';
import * as fanouts from './fanout';
import { notifyOf } from './notify';

/**
 * The result of an ack: how many items were named, how many were not acked before, and which
 * fan-outs the call completed.
 */
export type AckResult = AckAnswer;

/** The verbs for items of fan-outs: `muster.items`. */
export class Items {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Adds `n` items, 1 to 10^10, by statements of at most 10,000 items (`itemsPerCall`). With a
   * `key` the call may be repeated. Throws `NotFoundError` for an unknown fan-out, and
   * `FanoutStateError` after the seal.
   */
  async add(fanout: string, n: number, options?: AddItemsOptions): Promise<AddedItems> {
    const { connection } = this;
    return connection.write(ADD_ITEMS, () => fanouts.addItems(connection.pool, fanout, n, options));
  }

  /**
   * Adds items in parts. Each part is committed when it is yielded, so that its ids can be sent
   * while others are being added. Throws as `add` does.
   */
  async *addInParts(fanout: string, n: number, options?: AddItemsOptions): AsyncGenerator<AddedItems> {
    try {
      await this.connection.ready();
      yield* fanouts.addItemsInParts(this.connection.pool, fanout, n, options);
    } catch (error) {
      throw withOutcome(error, ADD_ITEMS);
    }
  }

  /**
   * Acks items, of any fan-outs, in any order and any number of times. Throws `InvalidItemError`,
   * which names the invalid ids. Then nothing of their portion (100 ids by default, see
   * `idsPerCall`) was applied.
   */
  async ack(ids: ItemSource, options?: AckOptions): Promise<AckResult> {
    const { connection } = this;
    const work = (): ReturnType<typeof acks.ackItems> => acks.ackItems(connection.pool, ids, options);
    const { completed, ...acked } = await connection.write(ACK_ITEMS, work);
    return { ...acked, completed: await notifyOf(connection, completed) };
  }

  /**
   * Takes back mistaken acks, as long as their fan-outs are not complete. Throws
   * `InvalidItemError`.
   */
  async reopen(ids: ItemSource, options?: AckOptions): Promise<{ items: number; reopened: number }> {
    const { connection } = this;
    const work = (): ReturnType<typeof acks.reopenItems> => acks.reopenItems(connection.pool, ids, options);
    // A stream is read once, by the reopen itself.
    const subject = typeof ids === 'string' || Array.isArray(ids) ? someOf('item', ids) : 'items';
    const { items, acked } = await connection.change(ACK_ITEMS, { verb: 'reopen', subject }, work);
    return { items, reopened: acked };
  }

  /**
   * Returns whether each of 1 to 10,000 items is acked, in their order. Throws `InvalidItemError`.
   */
  async read(ids: readonly string[]): Promise<boolean[]> {
    await this.connection.ready();
    return acks.readItems(this.connection.pool, ids);
  }
}

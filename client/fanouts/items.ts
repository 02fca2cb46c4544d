import type { AckAnswer } from '../../workflows/contracts/fanout';
import type { Connection } from '../connection';
import { ACK_ITEMS, ADD_ITEMS, withOutcome } from '../tasks/failureTexts';
import type { AckOptions, ItemSource } from './ackItems';
import * as acks from './ackItems';
import type { AddItemsOptions } from './check';
import type { AddedItems } from './fanout';
import * as fanouts from './fanout';
import { notifyOf } from './notify';

/** What an ack changed: items named, those not acked before, and fan-outs that it completed. */
export type AckResult = AckAnswer;

/** The verbs for items of fan-outs: `muster.items`. */
export class Items {
  /** @internal */
  constructor(private readonly connection: Connection) {}

  /**
   * Adds `n` items, 1 to 10^10, in statements of at most 10,000. Throws `NotFoundError`,
   * `FanoutStateError` after the seal; give a `key` to be able to repeat it.
   */
  async add(fanout: string, n: number, options?: AddItemsOptions): Promise<AddedItems> {
    const { connection } = this;
    return connection.write(ADD_ITEMS, () => fanouts.addItems(connection.pool, fanout, n, options));
  }

  /**
   * Adds items as a stream: each part is committed when it comes, so that sending begins while
   * adding goes on.
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
   * Acks items: one id, many, or a stream of any length; in any order, of any fan-outs, any number
   * of times. `InvalidItemError` names invalid ids; nothing of their portion (100 ids,
   * `idsPerCall`) is applied.
   */
  async ack(ids: ItemSource, options?: AckOptions): Promise<AckResult> {
    const { connection } = this;
    const work = (): ReturnType<typeof acks.ackItems> => acks.ackItems(connection.pool, ids, options);
    const { completed, ...acked } = await connection.write(ACK_ITEMS, work);
    return { ...acked, completed: await notifyOf(connection, completed) };
  }

  /** Takes back mistaken acks, as long as their fan-out is not complete. */
  async reopen(ids: ItemSource, options?: AckOptions): Promise<{ items: number; reopened: number }> {
    const { connection } = this;
    const work = (): ReturnType<typeof acks.reopenItems> => acks.reopenItems(connection.pool, ids, options);
    const { items, acked } = await connection.write(ACK_ITEMS, work);
    return { items, reopened: acked };
  }

  /**
   * Returns for each of at most 10,000 items whether it is acked, in their order. Throws
   * `InvalidItemError`.
   */
  async read(ids: readonly string[]): Promise<boolean[]> {
    await this.connection.ready();
    return acks.readItems(this.connection.pool, ids);
  }
}

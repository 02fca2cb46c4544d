import type { TakenNotification } from '../../postgres/callbacks/notification';
import { isRetryable, isUnavailable, withRetries } from '../../postgres/errors';
import { outlast } from '../../postgres/outage';
import type { ActivityDeps } from '../deps';
import { LEASE_MS } from './deliveries';

/**
 * Writes to the outbox how deliveries ended. While another transaction holds a message's row, its
 * delivery is over all the same, and its end is written behind the look: others go on.
 */
export class OutboxWriter {
  constructor(private readonly deps: Pick<ActivityDeps, 'draining' | 'log'>) {}

  /**
   * Resolves when it is written, or waits for the message's row alone. `write` must be idempotent.
   * Rejects if the store cannot be reached or refuses it.
   */
  async write(one: Pick<TakenNotification, 'id'>, write: () => Promise<void>): Promise<void> {
    try {
      await withRetries(write);
    } catch (error) {
      if (isUnavailable(error) || !isRetryable(error)) throw error;
      this.deps.log.info({ err: error, notification: one.id }, "a callback's row is held: its end is written later");
      void this.writeBehind(one, write);
    }
  }

  /** Tries for as long as the message is leased: after that it is sent again. */
  private async writeBehind({ id }: Pick<TakenNotification, 'id'>, write: () => Promise<void>): Promise<void> {
    const signal = AbortSignal.any([this.deps.draining, AbortSignal.timeout(LEASE_MS)]);
    await outlast(write, { signal, onOutage: () => undefined }).catch((err: unknown) =>
      this.deps.log.warn({ err, notification: id }, 'the end of a callback was not written: it is sent again'),
    );
  }
}

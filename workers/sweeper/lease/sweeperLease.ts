import { acquireLease, releaseLease } from '../../../postgres/lease';
import type { Pool } from '../../../postgres/pool';
import { StoreContact } from './storeContact';

const RESOURCE = 'sweeper';
/** A dead sweeper's successor begins after this. Two that sweep at once do no harm. */
const SWEEPER_LEASE_MS = 6_000;
/** A round asks at its begin; while it takes longer, or a pause does, the lease is renewed. */
const RENEW_MS = 2_400;

/**
 * Keeps the sweeper's lease, also through rounds that take long: else another process would begin
 * to watch, and knows nothing of what this one has seen.
 */
export class SweeperLease {
  /** Each answer about the lease is one of the store. */
  readonly contact = new StoreContact();
  private epoch: number | null = null;
  private timer: NodeJS.Timeout | undefined;
  private renewal: Promise<void> = Promise.resolve();

  constructor(private readonly options: { pool: Pool; node: string }) {}

  get isHeld(): boolean {
    return this.epoch !== null;
  }

  /** Acquires or renews the lease; false: another process has it. Rejects if the store fails. */
  async acquire(): Promise<boolean> {
    await this.pause();
    this.epoch = null;
    await this.ask();
    this.renewLater();
    return this.isHeld;
  }

  /** Gives it up, so that the next holder need not wait; at a failure it expires. */
  async release(): Promise<void> {
    await this.pause();
    const { pool, node } = this.options;
    if (this.epoch !== null) await releaseLease(pool, RESOURCE, node, this.epoch).catch(() => undefined);
    this.epoch = null;
  }

  private async pause(): Promise<void> {
    clearTimeout(this.timer);
    await this.renewal;
    clearTimeout(this.timer); // set by the renewal that was under way
  }

  private async ask(): Promise<void> {
    const { pool, node } = this.options;
    this.epoch = await acquireLease(pool, RESOURCE, node, SWEEPER_LEASE_MS);
    this.contact.answered();
  }

  private renewLater(): void {
    if (!this.isHeld) return;
    // A renewal that fails changes nothing: the next round asks, and tells it.
    const renew = (): Promise<void> => this.ask().catch(() => undefined);
    this.timer = setTimeout(() => void (this.renewal = renew().then(() => this.renewLater())), RENEW_MS).unref();
  }
}

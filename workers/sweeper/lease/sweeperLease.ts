import { acquireLease, releaseLease } from '../../../postgres/lease';
import type { Pool } from '../../../postgres/pool';
import { briefly } from '../../../workflows/behind';
import { StoreContact } from './storeContact';

const RESOURCE = 'sweeper';
/**
 * A dead sweeper's successor begins at most one round after this. Two that sweep at once do no
 * harm.
 */
const SWEEPER_LEASE_MS = 6_000;
/** A round renews the lease at its start; longer rounds and pauses renew it this often. */
const RENEW_MS = 2_400;
/** How long a release waits for a renewal that is under way: it would take the lease again. */
const LAST_RENEWAL_MS = 1_500;

/**
 * Keeps the sweeper's lease, also through rounds that take long. Otherwise another process begins
 * to watch, without what this one has seen.
 */
export class SweeperLease {
  /** Each answer about the lease is one of the store. */
  readonly contact = new StoreContact();
  private epoch: number | null = null;
  private timer: NodeJS.Timeout | undefined;
  private renewal: Promise<void> = Promise.resolve();
  /** Counts what was asked: only the last answer says who has it, a hung one may come after it. */
  private asked = 0;

  constructor(private readonly options: { pool: Pool; node: string }) {}

  get isHeld(): boolean {
    return this.epoch !== null;
  }

  /** Acquires or renews the lease; false: another process has it. Rejects if the store fails. */
  async acquire(): Promise<boolean> {
    this.epoch = null;
    await this.ask();
    return this.isHeld;
  }

  /** Gives it up, so that the next holder need not wait; at a failure it expires. */
  async release(): Promise<void> {
    this.asked++;
    clearTimeout(this.timer);
    await briefly(this.renewal, LAST_RENEWAL_MS);
    const { pool, node } = this.options;
    if (this.epoch !== null) await releaseLease(pool, RESOURCE, node, this.epoch).catch(() => undefined);
    this.epoch = null;
  }

  private async ask(): Promise<void> {
    const { pool, node } = this.options;
    const no = ++this.asked;
    clearTimeout(this.timer);
    try {
      const epoch = await acquireLease(pool, RESOURCE, node, SWEEPER_LEASE_MS);
      this.contact.answered();
      if (no === this.asked) this.epoch = epoch;
    } catch (error) {
      this.contact.lost();
      throw error;
    } finally {
      if (no === this.asked && this.isHeld) this.timer = setTimeout(() => this.renew(), RENEW_MS).unref();
    }
  }

  /** Changes nothing if it fails: it is tried again, and the next round tells it. */
  private renew(): void {
    this.renewal = this.ask().catch(() => undefined);
  }
}

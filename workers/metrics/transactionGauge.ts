import type { Registry } from 'prom-client';
import { Gauge } from 'prom-client';
import type { OldestTransaction } from '../../postgres/operations/oldestTransaction';
import { readOldestTransaction } from '../../postgres/operations/oldestTransaction';
import type { Client } from '../../postgres/pool';

/** For how long a transaction has kept dead rows, as a metric of a registry. */
export class TransactionGauge {
  private readonly gauge: Gauge;
  private readonly age: TransactionAge;

  constructor(registry: Registry, now: () => number = () => performance.now()) {
    this.age = new TransactionAge(now);
    this.gauge = new Gauge({
      name: 'muster_oldest_transaction_seconds',
      help: 'For how long a transaction of the database has kept vacuum from removing what was deleted; 0: none does',
      registers: [registry],
    });
  }

  async read(client: Client): Promise<void> {
    this.gauge.set(this.age.of(await readOldestTransaction(client)));
  }
}

/**
 * The age of the oldest transaction, in seconds: what the database says, or where that is hidden
 * from this role, for how long it was seen here.
 */
export class TransactionAge {
  private seen: { xid: string; atMs: number } | null = null;

  constructor(private readonly now: () => number) {}

  of(oldest: OldestTransaction | null): number {
    if (oldest === null) {
      this.seen = null;
      return 0;
    }
    const nowMs = this.now();
    if (this.seen?.xid !== oldest.xid) this.seen = { xid: oldest.xid, atMs: nowMs };
    return Math.max(0, oldest.seconds ?? (nowMs - this.seen.atMs) / 1_000);
  }
}

import type { Pool } from '../../postgres/pool';

/** One look at all leases, by the database's clock. */
export interface Look {
  atMs: number;
  leases: Lease[];
}
export interface Lease {
  partition: string;
  /** Id of the node; null: no node holds it, or its lease has passed. */
  holder: string | null;
  epoch: number;
  revoked: boolean;
}

const EVERY_MS = 100;

/**
 * Looks at the leases ten times per second, apart from Muster's own code: which node held what
 * under which epoch, and how long none did.
 */
export class Watch {
  last: Look = { atMs: 0, leases: [] };
  /**
   * Longest time without a holder, as far as looks tell (100 ms), and the same with one that is
   * dead or stopped counted as none.
   */
  longestFreeMs = 0;
  longestUnservedMs = 0;
  /** Node ids by `partition/epoch`. */
  readonly holders = new Map<string, string>();
  private readonly freeSince = new Map<string, number>();
  private readonly unservedSince = new Map<string, number>();
  private stopped = false;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly pool: Pool,
    private readonly isAway: (node: string) => boolean,
  ) {}

  start(): void {
    this.running = this.run();
  }
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  /** Times that a partition was given to a node, so far. */
  get moves(): number {
    return this.last.leases.reduce((sum, { epoch }) => sum + epoch, 0);
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const look = await this.look();
      for (const lease of look.leases) this.note(lease, look.atMs);
      this.last = look;
      await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
    }
  }

  private async look(): Promise<Look> {
    const { rows } = await this.pool.query<Lease & { atMs: number }>(
      `select resource as partition, case when expires_at > clock() then holder end as holder, epoch::float8 as epoch, revoked_at is not null as revoked,
         extract(epoch from clock())::float8 * 1000 as "atMs" from lease where resource like 'partition/%' order by resource`,
    );
    return { atMs: rows[0]?.atMs ?? 0, leases: rows };
  }

  private note({ partition, holder, epoch }: Lease, atMs: number): void {
    if (holder !== null) this.holders.set(`${partition}/${epoch}`, holder);
    if (epoch === 0) return; // no node has had it yet
    const away = holder === null || this.isAway(holder);
    this.longestFreeMs = Math.max(this.longestFreeMs, gap(this.freeSince, partition, holder === null, atMs));
    this.longestUnservedMs = Math.max(this.longestUnservedMs, gap(this.unservedSince, partition, away, atMs));
  }
}

const gap = (since: Map<string, number>, partition: string, open: boolean, atMs: number): number => {
  const from = since.get(partition) ?? atMs;
  if (open) since.set(partition, from);
  else since.delete(partition);
  return Math.round(atMs - from);
};

import { setTimeout as sleep } from 'node:timers/promises';
import type { Place } from '../crew';
import type { Harness } from '../harness';
import { randomOf } from '../random';
import type { Servers } from '../servers';

/** Twice the lease of the workers' partitions. */
const FROZEN_MS = 6_000;
const BUSY_MS = 3_000;

/**
 * Stops workers that hold partitions past their leases, wherever they are, and lets them go on
 * (B11). One counts only if it held some when it was stopped, and none of those any more when it
 * woke: so others had taken over.
 */
export class Freezer {
  count = 0;
  isOver = false;
  private readonly random: () => number;

  constructor(
    private readonly harness: Harness,
    private readonly servers: Servers,
    private readonly options: { freezes: number; seed: number; log: (line: string) => void },
  ) {
    this.random = randomOf(options.seed + 1);
  }

  async run(): Promise<void> {
    try {
      while (this.count < this.options.freezes) {
        const healthy = this.harness.workers.filter((place) => place.isHealthy());
        const victim = healthy[Math.floor(this.random() * healthy.length)];
        if (healthy.length < 2 || victim === undefined) await sleep(100);
        else await this.freeze(victim);
        await sleep(200 + this.random() * 800);
      }
    } finally {
      this.isOver = true;
    }
  }

  private async freeze(victim: Place): Promise<void> {
    const { pid } = victim.child!;
    await this.calls(pid);
    const before = await this.holds(pid);
    if (before.length === 0) return;
    await victim.freeze(FROZEN_MS);
    const kept = (await this.holds(pid)).filter((id) => before.includes(id));
    if (kept.length === 0) this.count++;
    this.options.log(
      `     froze ${victim.label}: held ${before.length}, ${kept.length} of them still; ${this.count} counted`,
    );
  }

  /**
   * Until it has just marked a call (of 2 s), or for a while: what it wakes with is then too late.
   */
  private async calls(pid: number): Promise<void> {
    for (const until = performance.now() + BUSY_MS; performance.now() < until; await sleep(20)) {
      const { rowCount } = await this.servers.store.query(
        `select from batch where state = 1 and attempt_until > clock() + interval '1.9 s' and attempt_by like $1 limit 1`,
        [`%-${pid}-%`],
      );
      if (rowCount === 1) return;
    }
  }

  /** Under their epochs. A node's id has its process's. */
  private async holds(pid: number): Promise<string[]> {
    const { rows } = await this.servers.store.query<{ held: string }>(
      `select resource || ' ' || epoch as held from lease where resource like 'partition/%' and holder like $1`,
      [`%-${pid}-%`],
    );
    return rows.map(({ held }) => held);
  }
}

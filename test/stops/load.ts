import { setTimeout as sleep } from 'node:timers/promises';
import type { Client, TaskInput } from '../../client';
import { createClient } from '../../client';
import { createPool } from '../../postgres/pool';
import type { Pool } from '../../postgres/pool';
import { handlers } from './handlers';

const TARGETS = 64;
const LANES = 16;

export interface LoadOptions {
  databaseUrl: string;
  address: string;
  prefix: string;
  /** Tasks of both kinds per second. */
  rate: number;
}

/** Tasks that arrive all the time. */
export class Load {
  private readonly client: Client;
  private readonly pool: Pool;
  private timer: NodeJS.Timeout | undefined;
  private submitting: Promise<void> = Promise.resolve();
  private readonly ids: string[] = [];

  constructor(private readonly options: LoadOptions) {
    const { databaseUrl, prefix, address } = options;
    this.client = createClient({ databaseUrl, prefix, handlers, temporal: { address } });
    this.pool = createPool({ databaseUrl, max: 1, applicationName: 'test load' });
  }

  get accepted(): number {
    return this.ids.length;
  }

  start(): void {
    const everyMs = 100;
    const each = Math.max(1, Math.round((this.options.rate * everyMs) / 2_000));
    this.timer = setInterval(() => {
      // One call at a time: behind a stopped worker nothing piles up here.
      const tasks = Array.from({ length: each }, () => Math.floor(Math.random() * TARGETS));
      this.submitting = this.submitting.then(() => this.submit('load', tasks));
    }, everyMs);
  }

  /** Resolves when all that was submitted is accepted. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.submitting;
  }

  /**
   * Submits a task for each of these keys, of both kinds; resolves with their ids when they are
   * accepted.
   */
  async probe(keys = Array.from({ length: TARGETS }, (_, key) => key)): Promise<string[]> {
    const from = this.ids.length;
    await this.submit('probe', keys);
    return this.ids.slice(from);
  }

  private async submit(what: string, keys: readonly number[]): Promise<void> {
    for (const [handler, most] of [
      ['orders', TARGETS],
      ['edits', LANES],
    ] as const) {
      const tasks: TaskInput[] = keys.map((key, i) => ({
        id: `${handler}-${what}-${this.ids.length + i}`,
        payload: { key: `k${key % most}` },
      }));
      await this.client.submit(handler, tasks);
      this.ids.push(...tasks.map(({ id }) => id));
    }
  }

  /** Milliseconds until all of them have succeeded; null: not within `timeoutMs`. */
  async succeeded(ids: readonly string[], timeoutMs = 60_000): Promise<number | null> {
    const begun = performance.now();
    try {
      const ends = await this.client.waitFor([...ids], { timeoutMs });
      return ends.every(({ state }) => state === 'succeeded') ? performance.now() - begun : null;
    } catch {
      return null;
    }
  }

  /** Waits until nothing is queued or in a batch that is open; false: something was left. */
  async drained(timeoutMs: number): Promise<boolean> {
    const until = performance.now() + timeoutMs;
    for (; performance.now() < until; await sleep(500)) if ((await this.backlog()) === 0) return true;
    return false;
  }

  /** Tasks that have not ended. */
  async backlog(): Promise<number> {
    const text =
      'select (select count(*) from queue) + (select coalesce(sum(n_left), 0) from batch where state = 1) as n';
    const { rows } = await this.pool.query<{ n: number }>(text);
    return Number(rows[0]!.n);
  }

  async close(): Promise<void> {
    await this.stop();
    await this.pool.end();
    await this.client.close();
  }
}

import type { Client, TaskInput } from '../../client';
import { createClient } from '../../client';
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
  private timer: NodeJS.Timeout | undefined;
  private submitting: Promise<void> = Promise.resolve();
  private readonly ids: string[] = [];

  constructor(private readonly options: LoadOptions) {
    const { databaseUrl, prefix, address } = options;
    this.client = createClient({ databaseUrl, prefix, handlers, temporal: { address } });
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

  /** Submits a task for each of these keys, of both kinds; resolves with their ids when they are accepted. */
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
      const tasks: TaskInput[] = keys.map((key, i) => ({ id: `${handler}-${what}-${this.ids.length + i}`, payload: { key: `k${key % most}` } })); // prettier-ignore
      await this.client.submit(handler, tasks);
      this.ids.push(...tasks.map(({ id }) => id));
    }
  }

  /** Milliseconds until all of them (default: all of the load) have succeeded; null: not within `timeoutMs`. */
  async succeeded(ids: readonly string[] = this.ids, timeoutMs = 60_000): Promise<number | null> {
    const begun = performance.now();
    try {
      const ends = await this.client.waitFor([...ids], { timeoutMs });
      return ends.every(({ state }) => state === 'succeeded') ? performance.now() - begun : null;
    } catch {
      return null;
    }
  }

  async close(): Promise<void> {
    await this.stop();
    await this.client.close();
  }
}

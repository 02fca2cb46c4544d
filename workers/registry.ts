import type { Logger } from 'pino';
import { removeNode, touchNode } from '../postgres/node';
import type { NodeRow } from '../postgres/node';
import type { Pool } from '../postgres/pool';

/** A node is taken for dead after several of these without a sign of life; the sweeper and `status` say after how many. */
export const HEARTBEAT_MS = 3_000;

export interface RegistryOptions {
  pool: Pool;
  node: Omit<NodeRow, 'draining'>;
  log: Logger;
  /** Default 3 s. */
  everyMs?: number;
}

/**
 * This process's row in `node`: which handlers it serves and that it lives, by the database's clock. A failed heartbeat is logged and
 * followed by the next one; while Postgres is away nobody can read the row either.
 */
export class Registry {
  private timer: NodeJS.Timeout | undefined;
  private beating: Promise<void> = Promise.resolve();
  private draining = false;
  private stopped = false;
  private failing = false;

  constructor(private readonly options: RegistryOptions) {}

  async start(): Promise<void> {
    await this.beat();
    this.next();
  }

  /** It takes no new work from now on. */
  async drain(): Promise<void> {
    this.draining = true;
    await this.beat();
  }

  /** A clean stop: the row goes. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.beating;
    await removeNode(this.options.pool, this.options.node.id).catch((error: unknown) => this.failed(error));
  }

  private next(): void {
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.beat().then(() => this.next()), this.options.everyMs ?? HEARTBEAT_MS);
    this.timer.unref();
  }

  /** One after the other, so that an older one never overwrites the draining flag. */
  private beat(): Promise<void> {
    this.beating = this.beating.then(async () => {
      if (this.stopped) return;
      try {
        await touchNode(this.options.pool, { ...this.options.node, draining: this.draining });
        this.failing = false;
      } catch (error) {
        this.failed(error);
      }
    });
    return this.beating;
  }

  private failed(error: unknown): void {
    if (!this.failing)
      this.options.log.warn({ err: error, node: this.options.node.id }, 'node: no sign of life written');
    this.failing = true;
  }
}

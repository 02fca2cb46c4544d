import type { Logger } from 'pino';
import type { Heartbeat } from '../activities/nodes/heartbeat';
import { removeNode, touchNode } from '../postgres/nodes/node';
import type { NodeRow } from '../postgres/nodes/node';
import type { Pool } from '../postgres/pool';
import { briefly } from '../workflows/behind';

/**
 * Interval of heartbeats. A node counts as dead after missing several of them; the sweeper and
 * `status` define how many.
 */
export const HEARTBEAT_MS = 3_000;
/** How long its end waits for a write of the row that is under way. */
const LAST_WRITE_MS = 5_000;

export interface RegistryOptions {
  pool: Pool;
  /** Gives the signs of life after the first one: from a thread that work cannot block. */
  heartbeat: Heartbeat;
  node: Omit<NodeRow, 'draining' | 'timersLateMs'>;
  log: Logger;
  /** Default 3 s. */
  everyMs?: number;
  /** How long the main thread may be silent before the node falls silent. */
  silenceMs: number;
}

/**
 * Keeps this process's row in `node`: which handlers it serves and that it lives, by the database's
 * clock. A failed heartbeat is logged and followed by the next one; while Postgres is unreachable
 * no other process can read the row either.
 */
export class Registry {
  private state: 'new' | 'started' | 'stopped' = 'new';
  private draining = false;
  private timersLateMs: number | null = null;
  /** The last write of the row. */
  private written: Promise<void> = Promise.resolve();

  constructor(private readonly options: RegistryOptions) {}

  start(): Promise<void> {
    this.state = 'started';
    return this.say();
  }

  /** Marks that it takes no new work from now on. */
  drain(): Promise<void> {
    this.draining = true;
    return this.say();
  }

  /** Notes how late the Temporal server fires timers at most. */
  async noteTimers(lateMs: number): Promise<void> {
    this.timersLateMs = lateMs;
    // Before its start no one is to count on the node, and its end deletes the row.
    if (this.state === 'started') await this.say();
  }

  /** Stops cleanly: deletes the row. */
  async stop(): Promise<void> {
    this.state = 'stopped';
    const { heartbeat, pool, node } = this.options;
    await heartbeat.stop();
    // A write that came after the deletion would leave a row that nothing deletes for an hour.
    await briefly(this.written, LAST_WRITE_MS);
    await removeNode(pool, node.id).catch((error: unknown) => this.failed(error));
  }

  /** Writes the row at once, and from then on; one write after another, and none after the end. */
  private async say(): Promise<void> {
    const { heartbeat, pool, node, everyMs = HEARTBEAT_MS, silenceMs } = this.options;
    if (this.state === 'stopped') return;
    const { draining, timersLateMs } = this;
    const row = { ...node, draining, timersLateMs };
    heartbeat.beat(row, everyMs, silenceMs);
    const write = async (): Promise<void> => {
      if (this.state !== 'stopped') await touchNode(pool, row);
    };
    this.written = this.written.then(write).catch((error: unknown) => this.failed(error));
    await this.written;
  }

  private failed(error: unknown): void {
    this.options.log.warn({ err: error, node: this.options.node.id }, 'node: a heartbeat could not be written');
  }
}

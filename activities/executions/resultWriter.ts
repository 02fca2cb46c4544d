import type { Logger } from 'pino';
import type { Sealer } from '../../handlers/codec/sealer';
import { withRetries } from '../../postgres/errors';
import { outlast } from '../../postgres/outage';
import type { Pool } from '../../postgres/pool';
import { recordResults } from '../../postgres/executions/workItem';
import type { ItemResult, Recorded } from '../../postgres/executions/workItem';
import type { ExecutionMeters } from './meters';
import type { HeldChunk } from '../nodes/heartbeat';
import { sealOutputs } from '../codec/sealedItems';

/** Most results per write, and how long the first may wait for others. */
const WRITE = 200;
const WAIT_MS = 50;
/** Results that may wait for Postgres before no further item is started. */
const MOST_WAITING = 1_000;

/**
 * Keeps every result until the store has answered for it, however long the store is unavailable:
 * acknowledged, or refused because the chunk no longer belongs to this node. One write at a time.
 */
export class ResultWriter {
  readonly counts = { done: 0, failed: 0, refused: 0 };
  last: Recorded | null = null;
  private waiting: ItemResult[] = [];
  private writing: Promise<void> | null = null;
  private timer: NodeJS.Timeout | undefined;
  private room: (() => void)[] = [];
  private failure: unknown = null;
  private readonly failing = new AbortController();

  constructor(
    private readonly pool: Pool,
    private readonly chunk: HeldChunk,
    private readonly signal: AbortSignal,
    private readonly log: Logger,
    private readonly meters: ExecutionMeters,
    private readonly sealer: Sealer | null,
  ) {}

  /** Aborted when a write failed for another reason than an outage: nothing more is written. */
  get failed(): AbortSignal {
    return this.failing.signal;
  }

  /** Resolves when there is room for another result. Throws as `flush` does. */
  async add(result: ItemResult): Promise<void> {
    if (this.failure !== null) throw this.failure;
    this.waiting.push(result);
    if (this.waiting.length >= WRITE) this.start();
    else this.timer ??= setTimeout(() => this.start(), WAIT_MS);
    if (this.waiting.length >= MOST_WAITING) await new Promise<void>((resolve) => this.room.push(resolve));
  }

  /**
   * Resolves when the store has answered for everything that was added. Throws what could not be
   * written for another reason than an outage.
   */
  async flush(): Promise<void> {
    while (this.waiting.length > 0 || this.writing !== null) {
      if (this.failure !== null) break;
      this.start();
      await this.writing;
    }
    if (this.failure !== null) throw this.failure;
  }

  private start(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.writing !== null || this.waiting.length === 0 || this.failure !== null) return;
    this.writing = this.write(this.waiting.splice(0, WRITE))
      .catch((error: unknown) => this.fail(error))
      .then(() => {
        this.writing = null;
        if (this.waiting.length < MOST_WAITING || this.failure !== null) for (const go of this.room.splice(0)) go();
        if (this.waiting.length >= WRITE) this.start();
        else if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.start(), WAIT_MS);
      });
  }

  private fail(error: unknown): void {
    this.failure = error;
    this.failing.abort(error);
  }

  /**
   * A commit whose answer was lost does no harm: what it recorded is refused the second time, and
   * counted once.
   */
  private async write(results: readonly ItemResult[]): Promise<void> {
    const sealed = this.sealer === null ? results : await sealOutputs(this.sealer, results);
    const record = (): Promise<Recorded | null> => recordResults(this.pool, this.chunk, sealed);
    const recorded = await outlast(() => withRetries(record), {
      signal: this.signal,
      onOutage: (err) =>
        this.log.warn({ err, chunk: this.chunk.id }, 'chunk: results are buffered until Postgres accepts them'),
    });
    this.count(results, recorded);
  }

  private count(results: readonly ItemResult[], recorded: Recorded | null): void {
    this.counts.refused += results.length - (recorded?.accepted ?? 0);
    if (recorded === null) return;
    this.counts.done += recorded.done;
    this.counts.failed += recorded.failed + recorded.dead;
    this.last = recorded;
    this.meters.recorded(recorded);
  }
}

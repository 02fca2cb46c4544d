import type { Logger } from 'pino';
import { reasonOf } from '../../handlers/codec/codecError';
import { inParts } from '../../handlers/codec/inParts';
import type { Sealer } from '../../handlers/codec/sealer';
import * as store from '../../postgres/unneededObject';
import type { Pool } from '../../postgres/pool';
import type { SweepCounts } from './counts';

/** Objects per chunk, and deletions at once. */
const CHUNK = 100;
const PARALLEL = 8;
/** Rows of objects that were struck off, per statement. */
const STRUCK_OFF = 1_000;
/** Wait after a failure of the store, doubled up to the last. */
const FIRST_MS = 2_000;
const LONGEST_PAUSE_MS = 120_000;
/** Some that cannot be deleted are told of once in this time, and after the store was away. */
const TELL_EVERY_MS = 3_600_000;

interface Options {
  pool: Pool;
  sealer: Sealer | null;
  log: Pick<Logger, 'warn' | 'info'>;
}

/**
 * Deletes objects that nothing refers to. An object is struck off once it is deleted: a process
 * that dies in between leaves an entry, and the object is deleted again, which does no harm. One
 * that cannot be deleted has its own tries; only where a whole chunk cannot, the store has a rest.
 */
export class UnneededObjects {
  private running: Promise<void> | null = null;
  private stopped = false;
  private notBefore = 0;
  private waitMs = 0;
  private tellAt = -Infinity;

  constructor(
    private readonly options: Options,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Begins to delete what is due, beside the sweeper's round: the store may be slow. */
  begin(counts: Pick<SweepCounts, 'deletedObjects'>): void {
    const { sealer, log } = this.options;
    if (sealer?.deletesObjects !== true || this.stopped || this.now() < this.notBefore) return;
    this.running ??= this.work(sealer, counts)
      .catch((error: unknown) => this.failed(`the database: ${reasonOf(error)}`, log))
      .finally(() => (this.running = null));
  }

  /** Waits for what is being deleted. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.running;
  }

  private async work(sealer: Sealer, counts: Pick<SweepCounts, 'deletedObjects'>): Promise<void> {
    const { pool, log } = this.options;
    while ((await store.deleteStruckOffObjects(pool, STRUCK_OFF)) === STRUCK_OFF);
    for (let keys = await this.take(); keys.length > 0; keys = await this.take()) {
      const ends = await inParts(keys, 1, PARALLEL, async ([key]) => [await this.delete(sealer, key!)]);
      const gone = ends.flatMap(({ key, error }) => (error === null ? [key] : []));
      await store.forgetObjects(pool, gone);
      counts.deletedObjects += gone.length;
      const bad = ends.filter(({ error }) => error !== null);
      if (bad.length > 0) {
        await store.noteObjectFailure(
          pool,
          bad.map(({ key }) => key),
          bad[0]!.error!,
        );
        if (bad.length === CHUNK) return this.failed(bad[0]!.error!, log);
      }
      if (gone.length > 0) this.recovered(log);
      if (bad.length > 0) this.tell(bad[0]!.error!, log);
    }
  }

  private async take(): Promise<string[]> {
    return this.stopped ? [] : store.takeDueObjects(this.options.pool, CHUNK);
  }

  private async delete(sealer: Sealer, key: string): Promise<{ key: string; error: string | null }> {
    try {
      await sealer.deleteObject(key);
      return { key, error: null };
    } catch (error) {
      return { key, error: reasonOf(error) };
    }
  }

  private recovered(log: Options['log']): void {
    if (this.waitMs === 0) return;
    log.info('sweeper: the object store deletes again');
    this.waitMs = 0;
    this.tellAt = -Infinity;
  }

  private tell(error: string, log: Options['log']): void {
    if (this.now() < this.tellAt) return;
    log.warn({ error }, 'sweeper: objects of deleted tasks were not deleted; trying again');
    this.tellAt = this.now() + TELL_EVERY_MS;
  }

  private failed(error: string, log: Options['log']): void {
    if (this.waitMs === 0) this.tellAt = -Infinity; // that it is away is told of, whatever was before
    this.tell(error, log);
    this.waitMs = Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_MS, 2 * this.waitMs));
    this.notBefore = this.now() + this.waitMs;
  }
}

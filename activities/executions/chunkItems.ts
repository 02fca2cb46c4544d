import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { CodecError } from '../../handlers/codec/codecError';
import type { Sealer } from '../../handlers/codec/sealer';
import { reachChunk } from '../../postgres/executions/chunk';
import { readGivenItems } from '../../postgres/executions/workItem';
import type { GivenItem } from '../../postgres/executions/workItem';
import { withRetries } from '../../postgres/errors';
import { outlast } from '../../postgres/outage';
import type { Pool } from '../../postgres/pool';
import { LOST_BEFORE, nextWindow } from '../../workflows/planning/executions/attempts';
import type { HeldChunk } from '../nodes/heartbeat';
import { openGiven } from '../codec/sealedItems';
import type { OpenedItem } from '../codec/sealedItems';

/** Items read at once. */
const PAGE = 500;
/** Time between two tries while the codec does not work. */
const CODEC_RETRY_MS = 500;
/** It is told of once per minute. */
const TRIES_PER_LINE = 120;

export interface ChunkItemsDeps {
  pool: Pool;
  sealer: Sealer | null;
  log: Logger;
  chunk: HeldChunk;
  /** Items that run at once. */
  concurrency: number;
  /** Begin nothing more. */
  stop: AbortSignal;
  /** Resolves when every result so far is in the store. */
  flush: () => Promise<void>;
}

/**
 * The items of a chunk as its node begins them: those that were lost with a node before, or the
 * others.
 */
export class ChunkItems {
  constructor(private readonly deps: ChunkItemsDeps) {}

  async *plain(lostBefore: boolean): AsyncGenerator<OpenedItem> {
    for await (const page of this.pages(lostBefore)) yield* page;
  }

  /**
   * Returns them after the store knows that they may have begun: some ahead at once, and one by one
   * those that were lost before, each when every other has its result. Ends early when the chunk is
   * not this node's any more.
   */
  async *announced(lostBefore: boolean): AsyncGenerator<OpenedItem> {
    const { concurrency, flush } = this.deps;
    let window = lostBefore ? 1 : concurrency;
    for await (const page of this.pages(lostBefore))
      for (let at = 0; at < page.length;) {
        const part = page.slice(at, at + window);
        if (lostBefore) await flush();
        if (!(await this.announce(part.at(-1)!.position + (lostBefore ? LOST_BEFORE : 0)))) return;
        const begun = performance.now();
        yield* part;
        at += part.length;
        if (!lostBefore) window = nextWindow(window, performance.now() - begun, concurrency);
      }
  }

  private async *pages(lostBefore: boolean): AsyncGenerator<OpenedItem[]> {
    const { pool, chunk, sealer } = this.deps;
    for (let after = -1; ;) {
      const page = await this.outlasting(() => readGivenItems(pool, chunk.id, lostBefore, after, PAGE));
      if (page === null) return;
      const opened = sealer === null ? page : await this.opened(sealer, page);
      if (opened === null) return;
      yield opened;
      if (page.length < PAGE) return;
      after = page.at(-1)!.position;
    }
  }

  /**
   * Decodes items, again and again while the codec does not work: it is not their fault. Null:
   * nothing more may begin.
   */
  private async opened(sealer: Sealer, page: readonly GivenItem[]): Promise<OpenedItem[] | null> {
    const { chunk, stop, log } = this.deps;
    for (let tries = 1; !stop.aborted; tries++)
      try {
        return await openGiven(sealer, page);
      } catch (error) {
        if (!(error instanceof CodecError)) throw error;
        if (tries % TRIES_PER_LINE === 1)
          log.warn({ err: error, chunk: chunk.id }, 'chunk: no item begins until the codec works');
        await sleep(CODEC_RETRY_MS, undefined, { signal: stop }).catch(() => undefined);
      }
    return null;
  }

  /** False: nothing more may begin. */
  private async announce(position: number): Promise<boolean> {
    const { pool, chunk, stop } = this.deps;
    if (stop.aborted) return false;
    return (await this.outlasting(() => reachChunk(pool, chunk, position))) ?? false;
  }

  /**
   * Repeats a statement through an outage: items that were begun run on meanwhile, and would be
   * lost with the chunk. Null: nothing more may begin.
   */
  private async outlasting<T>(work: () => Promise<T>): Promise<T | null> {
    const { chunk, stop, log } = this.deps;
    try {
      return await outlast(() => withRetries(work), {
        signal: stop,
        onOutage: (err) => log.warn({ err, chunk: chunk.id }, 'chunk: no item begins until Postgres accepts writes'),
      });
    } catch (error) {
      if (stop.aborted) return null;
      throw error;
    }
  }
}

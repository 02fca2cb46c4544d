import { renewChunk } from '../../postgres/chunk';
import { touchNode } from '../../postgres/node';
import type { Pool } from '../../postgres/pool';
import { recordResults } from '../../postgres/workItem';
import type { Beat, FromThread, Hold } from './messages';
import { ChunkMemory, nowNs, toNs } from './shared';

/** Something that is written again and again: one write at a time, the next one `everyMs` after the last began. */
interface Due {
  nextAt: number;
  writing: boolean;
}
interface Held extends Due, Hold {
  memory: ChunkMemory;
}

/** After a write that failed. */
const AGAIN_MS = 300;

/** The work of the heartbeat thread: keeps what this process holds for as long as its main thread may be busy, and no longer. */
export class Keeper {
  private beat: (Beat & Due) | null = null;
  private readonly held = new Map<number, Held>();

  constructor(
    private readonly pool: Pool,
    private readonly tell: (message: FromThread) => void,
  ) {}

  /** The first sign of life is the main thread's; from here on they come from here. A later call says something new, and is written at once. */
  setBeat(beat: Beat): void {
    this.beat = { ...beat, nextAt: 0, writing: this.beat?.writing ?? false };
  }
  hold(key: number, hold: Hold, memory: SharedArrayBuffer): void {
    this.held.set(key, { ...hold, memory: new ChunkMemory(memory), nextAt: performance.now() + hold.leaseMs / 3, writing: false }); // prettier-ignore
  }
  drop(key: number): void {
    this.held.delete(key);
  }

  /** Starts the writes that are due. `silentMs`: how long the main thread has given no sign of life. */
  look(silentMs: number): void {
    const { beat } = this;
    // A node whose main thread hangs is no node: it goes silent, and no roll call counts on it.
    const longest = Math.max(beat?.silenceMs ?? 0, ...[...this.held.values()].map(boundOf));
    if (beat !== null && silentMs <= longest)
      this.write(beat, beat.everyMs, 'node', () => touchNode(this.pool, beat.row));
    for (const [key, one] of this.held)
      this.write(one, one.leaseMs / 3, `chunk ${one.chunk.id}`, () =>
        silentMs <= boundOf(one) ? this.renew(key, one) : this.give(key, one),
      );
  }

  private write(due: Due, everyMs: number, what: string, work: () => Promise<void>): void {
    const now = performance.now();
    if (due.writing || now < due.nextAt) return;
    due.writing = true;
    due.nextAt = now + everyMs;
    work()
      .catch((error: unknown) => {
        due.nextAt = performance.now() + Math.min(everyMs, AGAIN_MS);
        this.tell({ kind: 'failed', what, message: String((error as Error).message) });
      })
      .finally(() => (due.writing = false));
  }

  private async renew(key: number, { chunk, leaseMs, memory }: Held): Promise<void> {
    const asked = nowNs();
    if (await renewChunk(this.pool, chunk.id, chunk.nodeId, chunk.epoch, leaseMs)) memory.holds(asked + toNs(leaseMs));
    else this.lose(key, memory);
  }

  /**
   * The main thread hangs: whatever runs of this chunk has had more than its time, so it has failed (E6), which counts an attempt and so comes
   * to an end; the lease is left to pass, and the rest goes to other nodes without one.
   */
  private async give(key: number, { chunk, itemMs, memory }: Held): Promise<void> {
    const stderr = `no answer within ${itemMs} ms, and its node hangs: the function blocks the process`;
    const failed = memory.running().map((position) => ({ position, ok: false, exitCode: null, stdout: '', stderr }));
    if (failed.length > 0) await recordResults(this.pool, chunk, failed);
    this.lose(key, memory);
  }

  private lose(key: number, memory: ChunkMemory): void {
    memory.lose();
    this.held.delete(key);
    this.tell({ kind: 'lost', key });
  }
}

/** An item may block the main thread for all of its time; a lease on top, so that the main thread's own timer says so where it can. */
const boundOf = ({ itemMs, leaseMs }: Hold): number => itemMs + leaseMs;

import { renewChunk } from '../../../postgres/executions/chunk';
import { touchNode } from '../../../postgres/nodes/node';
import { ANSWERS_WITHIN_MS, HANGS_AFTER_MS } from '../../../postgres/nodes/rollCall';
import { nextSilenceInMs, readHeldPartitions, renewPartitions } from '../../../postgres/nodes/partitionLease';
import type { Pool } from '../../../postgres/pool';
import { recordResults } from '../../../postgres/executions/workItem';
import type { Beat, FromThread, Hold, PartitionTerms } from './messages';
import { ChunkMemory, nowNs, toNs } from './shared';

/** A repeated write: one at a time, the next one `everyMs` after the last began. */
interface Due {
  nextAt: number;
  writing: boolean;
}
interface Held extends Due, Hold {
  memory: ChunkMemory;
}

/** Wait after a write that failed. */
const AGAIN_MS = 300;
/** Looks per lease while partitions are asked back; three otherwise. */
const ASKED_PART = 12;
/** Wait after the end of a silence: it is certain then, and not all nodes look at once. */
const silenceLookMs = (): number => 50 + Math.random() * 300;

/**
 * The work of the heartbeat thread: keeps what this process holds for as long as its main thread
 * may be busy, and no longer.
 */
export class Keeper {
  private beat: (Beat & Due) | null = null;
  /** How long the main thread has given no sign of life, and whether the row says that it hangs. */
  private silentMs = 0;
  private hangs = false;
  private readonly held = new Map<number, Held>();
  private partitions: (PartitionTerms & Due & { known: { id: string; epoch: number }[]; askedAt: number }) | null =
    null;

  constructor(
    private readonly pool: Pool,
    private readonly post: (message: FromThread) => void,
  ) {}

  /**
   * Sets the sign of life. The main thread writes the first; later ones come from here. A later
   * call has new content, and is written at once.
   */
  setBeat(beat: Beat): void {
    // The same object: a write in progress ends on it.
    this.beat = Object.assign(this.beat ?? { writing: false }, beat, { nextAt: 0 });
  }
  setPartitions(terms: PartitionTerms): void {
    this.partitions = { ...terms, nextAt: 0, writing: false, known: [], askedAt: -Infinity };
  }
  hold(key: number, hold: Hold, memory: SharedArrayBuffer): void {
    this.held.set(key, {
      ...hold,
      memory: new ChunkMemory(memory),
      nextAt: performance.now() + hold.leaseMs / 3,
      writing: false,
    });
  }
  drop(key: number): void {
    this.held.delete(key);
  }

  /**
   * Starts the writes that are due. `silentMs`: how long the main thread has given no sign of life.
   */
  look(silentMs: number): void {
    const { beat } = this;
    const hung = this.silentMs >= HANGS_AFTER_MS;
    this.silentMs = silentMs;
    // Roll calls go by the row: it changes with the thread, not with the next heartbeat.
    if (beat !== null && hung !== silentMs >= HANGS_AFTER_MS) beat.nextAt = 0;
    // A node whose main thread hangs counts as dead: it goes silent, and no roll call counts on it.
    const longest = Math.max(beat?.silenceMs ?? 0, ...[...this.held.values()].map(boundOf));
    if (beat !== null && silentMs <= longest) this.write(beat, this.beatMs(beat), 'node', () => this.giveSign(beat));
    const { partitions } = this;
    if (partitions !== null && silentMs <= partitions.maxLeaseMs)
      this.write(partitions, partitions.leaseMs / 3, 'partitions', () => this.keepPartitions(partitions));
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
        this.post({ kind: 'failed', what, message: String((error as Error).message) });
      })
      .finally(() => (due.writing = false));
  }

  /**
   * Returns the interval of signs of life, in step with the leases: a node that falls silent loses
   * both at about the same time.
   */
  private beatMs({ everyMs }: Beat): number {
    return this.partitions === null ? everyMs : Math.min(everyMs, this.partitions.leaseMs / 3);
  }

  /**
   * Renews the partitions that it knows it holds, then reads what it holds, and which other nodes
   * are silent.
   */
  private async keepPartitions(partitions: NonNullable<typeof this.partitions>): Promise<void> {
    const { leaseMs, known } = partitions;
    if (this.beat === null) return;
    const node = this.beat.row.id;
    const now = performance.now();
    if (known.length > 0) await renewPartitions(this.pool, node, known, leaseMs);
    const asked = nowNs();
    const held = await readHeldPartitions(this.pool, node);
    partitions.known = held;
    const seen = held.map(({ leftMs, ...one }) => ({ ...one, untilNs: asked + toNs(leftMs) }));
    this.post({ kind: 'partitions', seen, atNs: asked });
    // Where something is asked back more may follow, one round at a time: the whole move is to end
    // within a lease.
    if (held.some(({ revoked }) => revoked)) partitions.askedAt = now;
    if (now - partitions.askedAt < leaseMs) partitions.nextAt = Math.min(partitions.nextAt, now + leaseMs / ASKED_PART);
    const silenceInMs = await nextSilenceInMs(this.pool, node, leaseMs);
    if (silenceInMs === null) return;
    if (silenceInMs <= 0) this.post({ kind: 'silent-node' });
    const lookAt = performance.now() + Math.max(leaseMs / 10, silenceInMs) + silenceLookMs();
    partitions.nextAt = Math.min(partitions.nextAt, lookAt);
  }

  /**
   * Writes a sign of life. If the one before is a lease old, a round of the balancer may have taken
   * this node for dead, and no round is due because it lives: it reports that it is back. So does a
   * node whose first sign came late, when the round that its start asked for was over.
   */
  private async giveSign({ row }: Beat): Promise<void> {
    const begun = performance.now();
    const hangs = this.silentMs >= HANGS_AFTER_MS;
    const silentMs = await touchNode(this.pool, row, this.silentMs);
    if (!hangs && (this.hangs || silentMs === null || silentMs > ANSWERS_WITHIN_MS)) this.post({ kind: 'answers' });
    this.hangs = hangs;
    const { partitions } = this;
    if (partitions === null) return;
    // Until the commit, which is at the end of the statement, others read the sign before.
    if (silentMs === null || silentMs + performance.now() - begun > partitions.leaseMs) this.post({ kind: 'back' });
  }

  private async renew(key: number, { chunk, leaseMs, memory }: Held): Promise<void> {
    const asked = nowNs();
    if (await renewChunk(this.pool, chunk.id, chunk.nodeId, chunk.epoch, leaseMs)) memory.holds(asked + toNs(leaseMs));
    else this.lose(key, memory);
  }

  /**
   * Gives up a chunk whose items ran for longer than they may, since the main thread hangs: they
   * have failed, which counts an attempt and so comes to an end; the lease is left to pass, and the
   * other items go to other nodes without counting one.
   */
  private async give(key: number, { chunk, itemMs, memory }: Held): Promise<void> {
    const stderr = `no answer within ${itemMs} ms, and the node hangs: the function blocks its process`;
    const result = { ok: false, exitCode: null, stdout: '', stderr, usage: null, metadata: null };
    const failed = memory.running().map((position) => ({ position, ...result }));
    if (failed.length > 0) await recordResults(this.pool, chunk, failed);
    this.lose(key, memory);
  }

  private lose(key: number, memory: ChunkMemory): void {
    memory.lose();
    this.held.delete(key);
    this.post({ kind: 'lost', key });
  }
}

/**
 * Returns how long the main thread may be silent: an item may block it for all of its time; a lease
 * on top, so that the main thread's own timer reports the timeout if it can.
 */
const boundOf = ({ itemMs, leaseMs }: Hold): number => itemMs + leaseMs;

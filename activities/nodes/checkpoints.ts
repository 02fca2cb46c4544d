import { checkpointJson, PartitionLostError } from '../../handlers/partitions/checkpoint';
import type { Checkpoint, PartitionInHand } from '../../handlers/contract';
import type { Fence } from '../../postgres/calls/mark';
import { withRetries } from '../../postgres/errors';
import type { CheckpointRow } from '../../postgres/nodes/checkpoint';
import { readCheckpoint, writeCheckpoint } from '../../postgres/nodes/checkpoint';
import { partitionName } from '../../postgres/nodes/partition';
import type { Pool } from '../../postgres/pool';

/** Least time between two writes of one partition: later values meanwhile replace earlier ones. */
const WRITE_EVERY_MS = 200;

/** The checkpoints of the partitions that this process holds, one writer per partition. */
export class Checkpoints {
  private readonly writers = new Map<string, Writer>();

  constructor(
    private readonly pool: Pool,
    private readonly node: string,
  ) {}

  /** Returns a partition as the code of a handler has it in hand, under this epoch. */
  inHand(fence: Fence): PartitionInHand {
    return {
      id: partitionName(fence.id),
      epoch: fence.epoch,
      checkpoint: (value) => this.write(fence, value),
      lastCheckpoint: async () => this.writerOf(fence).last(),
    };
  }

  private write(fence: Fence, value: unknown): Promise<void> {
    const written = (async () => this.writerOf(fence).add(checkpointJson(value)))();
    // A caller that does not wait for it must not end the process.
    written.catch(() => undefined);
    return written;
  }

  /** Stores what waits for its turn now. Resolves when nothing of it is under way; never throws. */
  async flush(id: string): Promise<void> {
    await this.writers.get(id)?.flush();
  }

  private writerOf(fence: Fence): Writer {
    const known = this.writers.get(fence.id);
    if (known?.fence.epoch === fence.epoch) return known;
    const writer = new Writer(this.pool, this.node, fence);
    // An earlier epoch must not displace the writer that is flushed; the store refuses it.
    if (known === undefined || known.fence.epoch < fence.epoch) this.writers.set(fence.id, writer);
    return writer;
  }
}

interface Waiting {
  json: string;
  done: Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

const waitingFor = (json: string): Waiting => {
  const waiting: Partial<Waiting> = { json };
  waiting.done = new Promise((resolve, reject) => Object.assign(waiting, { resolve, reject }));
  waiting.done.catch(() => undefined); // who waits has a promise that follows this one
  return waiting as Waiting;
};

/** Writes the checkpoints of one partition under one epoch: the latest of each turn. */
class Writer {
  private next: Waiting | null = null;
  private running: Promise<void> | null = null;
  private hurry: () => void = () => undefined;
  private lastAt = -Infinity;
  /** The last one under this epoch as far as it is known; undefined: not read yet. */
  private known: CheckpointRow | null | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly node: string,
    readonly fence: Fence,
  ) {}

  /** Resolves when this value or a later one is stored. */
  add(json: string): Promise<void> {
    if (this.next === null) this.next = waitingFor(json);
    else this.next.json = json;
    const { done } = this.next;
    this.running ??= this.run();
    return done;
  }

  async flush(): Promise<void> {
    while (this.running !== null) {
      this.hurry();
      await this.running;
    }
  }

  async last(): Promise<Checkpoint | null> {
    if (this.known === undefined) {
      const read = await withRetries(() => readCheckpoint(this.pool, this.node, this.fence));
      if (read === 'lost') throw this.lost();
      // What was written meanwhile is newer than what was read.
      this.known ??= read;
    }
    if (this.known === null) return null;
    const { value, at, epoch } = this.known;
    return { value: JSON.parse(value) as unknown, at: at.toISOString(), epoch };
  }

  private async run(): Promise<void> {
    while (this.next !== null) {
      await this.turn();
      const { json, resolve, reject } = this.next;
      this.next = null;
      this.lastAt = performance.now();
      await this.write(json).then(resolve, reject);
    }
    // Here and not when the promise settles: a value that comes in between would start no run.
    this.running = null;
  }

  private async write(json: string): Promise<void> {
    const at = await withRetries(() => writeCheckpoint(this.pool, this.node, this.fence, json));
    if (at === null) throw this.lost();
    this.known = { value: json, at, epoch: this.fence.epoch };
  }

  /** Waits for the next write's turn, or until `flush`. */
  private turn(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, this.lastAt + WRITE_EVERY_MS - performance.now()));
      this.hurry = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private lost(): PartitionLostError {
    return new PartitionLostError(partitionName(this.fence.id), this.fence.epoch);
  }
}

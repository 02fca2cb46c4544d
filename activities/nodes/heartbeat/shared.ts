/**
 * What a process's main thread and its heartbeat thread share in memory, since a blocked main
 * thread neither reads nor sends a message. Times are of `process.hrtime`: the one monotonic clock
 * that all threads have in common.
 */

export const nowNs = (): bigint => process.hrtime.bigint();
export const toNs = (ms: number): bigint => BigInt(Math.round(ms)) * 1_000_000n;

/** A count that the main thread raises whenever it runs. */
export class SignOfLife {
  private readonly count: Int32Array;
  constructor(readonly buffer = new SharedArrayBuffer(4)) {
    this.count = new Int32Array(buffer);
  }
  give(): void {
    Atomics.add(this.count, 0, 1);
  }
  read(): number {
    return Atomics.load(this.count, 0);
  }
}

const LOST = 0n;
const IDLE = -1;

/**
 * One chunk: until when its lease holds for certain, written by the heartbeat thread, and the items
 * that run, written by the main thread.
 */
export class ChunkMemory {
  private readonly lease: BigInt64Array;
  /** By runner: the position of the item that it runs. */
  private readonly runners: Int32Array;

  constructor(readonly buffer: SharedArrayBuffer) {
    this.lease = new BigInt64Array(buffer, 0, 1);
    this.runners = new Int32Array(buffer, 8);
  }

  /** `parallelism`: how many items may run at once. */
  static create(parallelism: number, untilNs: bigint): ChunkMemory {
    const memory = new ChunkMemory(new SharedArrayBuffer(8 + 4 * parallelism));
    memory.runners.fill(IDLE);
    memory.holds(untilNs);
    return memory;
  }

  holds(untilNs: bigint): void {
    Atomics.store(this.lease, 0, untilNs);
  }
  lose(): void {
    Atomics.store(this.lease, 0, LOST);
  }
  isLost(): boolean {
    return Atomics.load(this.lease, 0) === LOST;
  }
  /** Says whether the chunk is not lost, and within the time for which it was renewed. */
  isHeld(): boolean {
    return nowNs() < Atomics.load(this.lease, 0);
  }

  begin(runner: number, position: number): void {
    Atomics.store(this.runners, runner, position);
  }
  end(runner: number): void {
    Atomics.store(this.runners, runner, IDLE);
  }
  /** Returns the positions of the items that run. */
  running(): number[] {
    return [...this.runners.keys()]
      .map((runner) => Atomics.load(this.runners, runner))
      .filter((position) => position !== IDLE);
  }
}

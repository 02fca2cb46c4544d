import type { WasmMemory } from './webAssembly';

/** A pointer of the guest leads out of its memory: the function that got it answers `fault`. */
export class Fault extends Error {
  constructor() {
    super('a pointer leads out of the memory of the module');
  }
}

/**
 * The memory of a guest, which may name any address and any length: what lies outside is a `Fault`.
 * Numbers come as the guest gave them: 32 bits, read without a sign.
 */
export class GuestMemory {
  private memory: WasmMemory | null = null;
  private buffer: ArrayBuffer | null = null;
  private data = new DataView(new ArrayBuffer(0));

  attach(memory: WasmMemory): void {
    this.memory = memory;
  }

  /** Returns these bytes, not a copy. Throws `Fault` unless all of them are in the memory. */
  bytes(at: number, length: number): Uint8Array {
    const begin = at >>> 0;
    if (begin + length > this.view().byteLength) throw new Fault();
    return new Uint8Array(this.buffer!, begin, length);
  }

  /** Returns a view of exactly these bytes; the same checks. */
  record(at: number, length: number): DataView {
    const begin = at >>> 0;
    if (begin + length > this.view().byteLength) throw new Fault();
    return new DataView(this.buffer!, begin, length);
  }

  setU32(at: number, value: number): void {
    this.record(at, 4).setUint32(0, value, true);
  }

  setU64(at: number, value: bigint): void {
    this.record(at, 8).setBigUint64(0, value, true);
  }

  /** Growing replaces the buffer of a memory. */
  private view(): DataView {
    if (this.memory === null) throw new Error('it calls a function of the system before it has been started');
    const { buffer } = this.memory;
    if (buffer !== this.buffer) {
      this.buffer = buffer;
      this.data = new DataView(buffer);
    }
    return this.data;
  }
}

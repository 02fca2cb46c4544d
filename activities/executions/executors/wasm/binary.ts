/** The numbers of a WebAssembly module's binary format, for reading and writing its sections. */

/** Longest unsigned LEB128 of 32 bits. */
const MAX_LEB = 5;
/** Longest signed one, of 64 bits. */
const MAX_SIGNED = 10;

export class BinaryReader {
  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {}

  get isOver(): boolean {
    return this.at >= this.bytes.length;
  }

  byte(): number {
    const value = this.bytes[this.at++];
    if (value === undefined) throw new Error('the module is truncated');
    return value;
  }

  number(): number {
    let value = 0;
    for (let i = 0; i < MAX_LEB; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return value;
    }
    throw new Error('the module contains an overlong number');
  }

  /** Reads a signed number, of at most 64 bits, whose high ones may be rounded. */
  signed(): number {
    let value = 0;
    for (let i = 0; i < MAX_SIGNED; i++) {
      const byte = this.byte();
      value += (byte & 0x7f) * 2 ** (7 * i);
      if (byte < 0x80) return byte < 0x40 ? value : value - 2 ** (7 * (i + 1));
    }
    throw new Error('the module contains an overlong number');
  }

  /** Returns a reader of the next `length` bytes alone, which are read over here. */
  part(length: number): BinaryReader {
    const end = this.at + length;
    if (end > this.bytes.length) throw new Error('the module is truncated');
    const part = new BinaryReader(this.bytes.subarray(0, end), this.at);
    this.at = end;
    return part;
  }

  /** Returns the bytes from `begin` to here. */
  since(begin: number): Uint8Array {
    return this.bytes.subarray(begin, this.at);
  }
}

export const leb = (value: number): number[] => {
  const bytes = [];
  for (let rest = value; ;) {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? byte | 0x80 : byte);
    if (rest === 0) return bytes;
  }
};

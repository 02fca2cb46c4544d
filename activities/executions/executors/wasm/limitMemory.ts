/**
 * Gives a module's memory a maximum, by rewriting its memory section: a running module grows its
 * memory by an instruction that nothing outside can refuse. The rest of the bytes stays as it is.
 */

const MEMORY_SECTION = 5;
const IMPORT_SECTION = 2;
const WASM_PAGE_BYTES = 65_536;
/** Longest unsigned LEB128 of 32 bits. */
const MAX_LEB = 5;

class Reader {
  constructor(
    readonly bytes: Uint8Array,
    public at = 0,
  ) {}
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
}

const leb = (value: number): number[] => {
  const bytes = [];
  for (let rest = value; ;) {
    const byte = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? byte | 0x80 : byte);
    if (rest === 0) return bytes;
  }
};

/**
 * Returns the module with its memory limited. Throws if it wants more from the start, or has memory
 * that cannot be limited: imported, shared, or of 64 bits.
 */
export const limitMemory = (module: Uint8Array, memoryBytes: number): Uint8Array<ArrayBuffer> => {
  const most = Math.floor(memoryBytes / WASM_PAGE_BYTES);
  const reader = new Reader(module, 8);
  if (Buffer.from(module.subarray(0, 4)).toString('latin1') !== '\0asm')
    throw new Error('the file is not a WebAssembly module');
  while (reader.at < module.length) {
    const start = reader.at;
    const section = reader.byte();
    const end = reader.number() + reader.at;
    if (section === IMPORT_SECTION) refuseImportedMemory(new Reader(module, reader.at));
    if (section === MEMORY_SECTION) {
      const body = limited(reader, most);
      return new Uint8Array(
        Buffer.concat([
          module.subarray(0, start),
          Buffer.from([section, ...leb(body.length), ...body]),
          module.subarray(end),
        ]),
      );
    }
    reader.at = end;
  }
  return new Uint8Array(module);
};

const limited = (reader: Reader, most: number): number[] => {
  const count = reader.number();
  const body = leb(count);
  for (let i = 0; i < count; i++) {
    const flags = reader.byte();
    if (flags > 1) throw new Error('the module uses shared or 64-bit memory, which this node does not support');
    const min = reader.number();
    const max = flags === 1 ? reader.number() : Infinity;
    if (min > most)
      throw new Error(
        `the module needs ${min * WASM_PAGE_BYTES} bytes of memory, and this node allows ${most * WASM_PAGE_BYTES}`,
      );
    body.push(1, ...leb(min), ...leb(Math.min(max, most)));
  }
  return body;
};

const MEMORY = 2;
/**
 * Refuses a module that imports memory, by the module's own description, since imports are of many
 * shapes: `WebAssembly.Module.imports` says the kind.
 */
const refuseImportedMemory = (reader: Reader): void => {
  for (let count = reader.number(); count > 0; count--) {
    for (let name = 0; name < 2; name++) {
      const length = reader.number();
      reader.at += length;
    }
    const kind = reader.byte();
    if (kind === MEMORY) throw new Error('the module imports its memory, which this node does not support');
    if (kind === 0) reader.number();
    else throw new Error('the module imports something other than functions, which this node does not support');
  }
};

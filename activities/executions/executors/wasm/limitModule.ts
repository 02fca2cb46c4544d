import { BinaryReader, leb } from './binary';
import { refuseKeptInGlobals, refuseKeptInVariables, refuseObjects, skipType } from './types';

/**
 * Gives the memories and tables of a module a maximum, by rewriting their sections: a running
 * module grows both by an instruction that nothing outside can refuse. The other bytes stay as they
 * are. Whether they are a module at all, the process that compiles them finds out.
 */

const SECTION = { type: 1, import: 2, table: 4, memory: 5, global: 6, code: 10 } as const;
const PAGE_BYTES = 65_536;
/** What the engine keeps per entry of a table: a reference, and how a function is called. */
const ENTRY_BYTES = 32;
const MAGIC = [0x00, 0x61, 0x73, 0x6d];

interface Limits {
  min: number;
  max: number;
}

/**
 * Returns the module with its memories and its tables limited to `memoryBytes`, each kind in sum.
 * Throws if it wants more from the start, or what cannot be limited: imported, shared, of 64 bits,
 * objects that are collected, or exceptions that are kept.
 */
export const limitModule = (module: Uint8Array, memoryBytes: number): Uint8Array => {
  if (!MAGIC.every((byte, i) => module[i] === byte)) throw new Error('the file is not a WebAssembly module');
  const reader = new BinaryReader(module, 8);
  const parts: Uint8Array[] = [];
  let copied = 0;
  while (!reader.isOver) {
    const begin = reader.at;
    const section = reader.byte();
    const end = reader.number() + reader.at;
    const content = new BinaryReader(module.subarray(0, end), reader.at);
    REFUSALS[section]?.(content);
    if (section === SECTION.memory || section === SECTION.table) {
      const body = section === SECTION.memory ? limitMemories(content, memoryBytes) : limitTables(content, memoryBytes);
      parts.push(module.subarray(copied, begin), Buffer.from([section, ...leb(body.length)]), body);
      copied = end;
    }
    reader.at = end;
  }
  return Buffer.concat([...parts, module.subarray(copied)]);
};

const limitMemories = (reader: BinaryReader, memoryBytes: number): Uint8Array => {
  const all: Limits[] = [];
  for (let count = reader.number(); count > 0; count--) {
    const limits = readLimits(reader);
    if (limits === null) throw new Error('the module uses shared or 64-bit memory, which this node does not support');
    all.push(limits);
  }
  const most = Math.floor(memoryBytes / PAGE_BYTES);
  const [wanted, given] = share(all, most);
  if (given === null)
    throw new Error(
      `the module needs ${wanted * PAGE_BYTES} bytes of memory, and this node allows ${most * PAGE_BYTES}`,
    );
  return Buffer.from([...leb(all.length), ...given.flatMap(writeLimits)]);
};

const limitTables = (reader: BinaryReader, memoryBytes: number): Uint8Array => {
  const all: (Limits & { type: Uint8Array; init: Uint8Array })[] = [];
  for (let count = reader.number(); count > 0; count--) {
    const type = readTableType(reader);
    const limits = readLimits(reader);
    if (limits === null) throw new Error('the module uses a shared or 64-bit table, which this node does not support');
    all.push({ ...limits, type, init: type[0] === WITH_VALUE ? readConstant(reader) : reader.since(reader.at) });
  }
  const most = Math.floor(memoryBytes / ENTRY_BYTES);
  const [wanted, given] = share(all, most);
  if (given === null) throw new Error(`the module needs tables of ${wanted} entries, and this node allows ${most}`);
  return Buffer.concat([
    Buffer.from(leb(all.length)),
    ...all.flatMap(({ type, init }, i) => [type, Buffer.from(writeLimits(given[i]!)), init]),
  ]);
};

/**
 * Returns what all want from the start, and how far each may grow: evenly where there are several.
 * Null: they want more than there is.
 */
const share = (all: readonly Limits[], most: number): [number, Limits[] | null] => {
  const wanted = all.reduce((sum, { min }) => sum + min, 0);
  if (wanted > most) return [wanted, null];
  const more = Math.floor((most - wanted) / all.length);
  return [wanted, all.map(({ min, max }) => ({ min, max: Math.min(max, min + more) }))];
};

/** Null: of a kind that is not supported. */
const readLimits = (reader: BinaryReader): Limits | null => {
  const flags = reader.byte();
  if (flags > 1) return null;
  const min = reader.number();
  return { min, max: flags === 1 ? reader.number() : Infinity };
};
const writeLimits = ({ min, max }: Limits): number[] => [1, ...leb(min), ...leb(max)];

/** A table with an initial value begins so. */
const WITH_VALUE = 0x40;

const readTableType = (reader: BinaryReader): Uint8Array => {
  const begin = reader.at;
  if (reader.bytes[reader.at] === WITH_VALUE) reader.at += 2;
  skipType(reader);
  return reader.since(begin);
};

const CONSTANT = { refNull: 0xd0, refFunc: 0xd2, globalGet: 0x23, end: 0x0b } as const;

/** Reads the initial value of a table: null, a function, or a global. */
const readConstant = (reader: BinaryReader): Uint8Array => {
  const begin = reader.at;
  const instruction = reader.byte();
  if (![CONSTANT.refNull, CONSTANT.refFunc, CONSTANT.globalGet].some((one) => one === instruction))
    throw new Error('the module computes the initial value of a table, which this node does not support');
  reader.number();
  if (reader.byte() !== CONSTANT.end)
    throw new Error('the module computes the initial value of a table, which this node does not support');
  return reader.since(begin);
};

/**
 * Refuses what a module imports beside functions, here, since imports may have shapes that are not
 * known: the process that compiles the module compares the names.
 */
const refuseImports = (reader: BinaryReader): void => {
  for (let count = reader.number(); count > 0; count--) {
    for (let name = 0; name < 2; name++) {
      const length = reader.number();
      reader.at += length;
    }
    const kind = reader.byte();
    if (kind === MEMORY) throw new Error('the module imports its memory, which this node does not support');
    if (kind !== 0)
      throw new Error('the module imports something other than functions, which this node does not support');
    reader.number();
  }
};
const MEMORY = 2;

/** What reads over a section, and throws for what cannot be limited. */
const REFUSALS: Readonly<Record<number, (reader: BinaryReader) => void>> = {
  [SECTION.type]: refuseObjects,
  [SECTION.import]: refuseImports,
  [SECTION.global]: refuseKeptInGlobals,
  [SECTION.code]: refuseKeptInVariables,
};

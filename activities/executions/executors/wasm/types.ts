import type { BinaryReader } from './binary';

/**
 * The types of a module, of functions only and without references to exceptions: objects of the
 * other kinds are kept by the engine's collector, which no maximum of a module bounds.
 */

const FUNCTION = 0x60;
/** How the other types begin, by what the proposal for garbage collection calls them. */
const FORMS: Readonly<Record<number, string>> = {
  0x4e: 'a group of types that refer to each other',
  0x4f: 'a final subtype',
  0x50: 'a subtype',
  0x5e: 'an array',
  0x5f: 'a struct',
};
/** What a reference to a type begins with, in place of the byte of a number. */
const REFERENCES: readonly number[] = [0x63, 0x64];
/** `exn` and `noexn`: exceptions that a module keeps, each with its values. */
const EXCEPTIONS: readonly number[] = [-23, -12];

/** Reads over the content of a section of types. @throws Error for any but those of functions */
export const refuseObjects = (reader: BinaryReader): void => {
  for (let count = reader.number(); count > 0; count--) {
    const form = reader.byte();
    if (form !== FUNCTION) {
      const what = FORMS[form] ?? `a type of the form 0x${form.toString(16).padStart(2, '0')}`;
      throw new Error(`the module defines ${what}, and this node does not support types other than of functions`);
    }
    for (let part = 0; part < 2; part++) skipValues(reader);
  }
};

/** The parameters of a function, or its results. */
const skipValues = (reader: BinaryReader): void => {
  for (let count = reader.number(); count > 0; count--) skipType(reader);
};

/** Reads over the type of a value. @throws Error for a reference to an exception */
export const skipType = (reader: BinaryReader): void => {
  const form = reader.byte();
  // A type by its number, or a kind of them by a negative one.
  const heap = REFERENCES.includes(form) ? reader.signed() : form - 0x80;
  if (EXCEPTIONS.includes(heap))
    throw new Error('the module keeps references to exceptions, which this node does not support');
};

/** Reads over a section of globals. */
export const refuseKeptInGlobals = (reader: BinaryReader): void => {
  for (let count = reader.number(); count > 0; count--) {
    skipType(reader);
    reader.byte(); // whether it changes
    skipConstant(reader);
  }
};

const END = 0x0b;
/** What reads over the operand of each instruction of a constant. */
const OPERANDS: Readonly<Record<number, (reader: BinaryReader) => void>> = {
  0x23: (reader) => reader.number(), // global.get
  0x41: (reader) => reader.signed(), // i32.const
  0x42: (reader) => reader.signed(), // i64.const
  0x43: (reader) => (reader.at += 4), // f32.const
  0x44: (reader) => (reader.at += 8), // f64.const
  0x6a: () => undefined, // i32.add
  0x6b: () => undefined, // i32.sub
  0x6c: () => undefined, // i32.mul
  0x7c: () => undefined, // i64.add
  0x7d: () => undefined, // i64.sub
  0x7e: () => undefined, // i64.mul
  0xd0: (reader) => reader.signed(), // ref.null
  0xd2: (reader) => reader.number(), // ref.func
  0xfd: (reader) => {
    reader.number(); // v128.const
    reader.at += 16;
  },
};
/** Reads over the value that a global begins with. */
const skipConstant = (reader: BinaryReader): void => {
  for (let instruction = reader.byte(); instruction !== END; instruction = reader.byte()) {
    const skip = OPERANDS[instruction];
    if (skip === undefined)
      throw new Error('the module computes the value of a global in a way that this node does not support');
    skip(reader);
  }
};

/** Reads over the variables of each function in a section of code. */
export const refuseKeptInVariables = (reader: BinaryReader): void => {
  for (let count = reader.number(); count > 0; count--) {
    const body = reader.part(reader.number());
    for (let groups = body.number(); groups > 0; groups--) {
      body.number();
      skipType(body);
    }
  }
};

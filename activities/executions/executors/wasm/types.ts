import type { BinaryReader } from './binary';

/**
 * The types that a module defines. Those of functions only: objects of the other kinds are kept by
 * the engine's collector, which no maximum of a module bounds.
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
export const REFERENCES: readonly number[] = [0x63, 0x64];

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
  for (let count = reader.number(); count > 0; count--) if (REFERENCES.includes(reader.byte())) reader.number();
};

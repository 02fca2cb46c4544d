import { BACKSLASH, QUOTE } from '../../../workflows/planning/jsonText';

const COMMA = 44;
const COLON = 58;
const ARRAY = 91;
const ARRAY_END = 93;
const OBJECT = 123;
const OBJECT_END = 125;
const SPACE = 32;

export interface Scanned {
  /** Deepest nesting of arrays and objects. */
  depth: number;
  /** JSON values and names of members: texts, numbers, words, arrays and objects. */
  values: number;
}

/**
 * Counts what a JSON text would become in memory, from its bytes and without building any of it.
 * Stops where a count exceeds its limit. Of what is not JSON the counts mean nothing.
 */
export const scan = (bytes: Buffer, most: Scanned): Scanned => {
  let depth = 0;
  let deepest = 0;
  let values = 1;
  let last = 0;
  for (let i = 0; i < bytes.length && deepest <= most.depth && values <= most.values; i++) {
    const at = bytes[i]!;
    if (at <= SPACE) continue;
    if (at === QUOTE) i = endOfText(bytes, i);
    else if (at === COMMA || at === COLON) values++;
    else if (at === ARRAY || at === OBJECT) {
      deepest = Math.max(deepest, ++depth);
      values++; // what it holds first
    } else if (at === ARRAY_END || at === OBJECT_END) {
      if (last === ARRAY || last === OBJECT) values--; // nothing
      depth--;
    }
    last = at;
  }
  return { depth: deepest, values };
};

/** Returns where the text that begins at `from` ends. */
const endOfText = (bytes: Buffer, from: number): number => {
  for (let i = from + 1; i < bytes.length; i++) {
    const at = bytes[i]!;
    if (at === BACKSLASH) i++;
    else if (at === QUOTE) return i;
  }
  return bytes.length;
};

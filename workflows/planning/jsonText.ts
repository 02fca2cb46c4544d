/**
 * Checks whether a JSON text can be stored and read again without loss. The library, the command
 * line and the HTTP API share these checks. Pure.
 */

/** Deepest nesting of arrays and objects in a payload. */
export const MAX_JSON_DEPTH = 100;

const SPACE = 32;
const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const ARRAY = 91;
const BACKSLASH = 92;
const ARRAY_END = 93;
const OBJECT = 123;
const OBJECT_END = 125;
const OPENING: ReadonlySet<number> = new Set([ARRAY, OBJECT]);
const CLOSING: ReadonlySet<number> = new Set([ARRAY_END, OBJECT_END]);

/**
 * Counts the deepest nesting of arrays and objects without parsing. Stops counting above `limit`,
 * and returns 0 for a text that is too short to exceed `limit`.
 */
export const depthOf = (text: string, limit = MAX_JSON_DEPTH): number => {
  if (text.length <= limit) return 0;
  let depth = 0;
  let deepest = 0;
  let inText = false;
  for (let i = 0; i < text.length && deepest <= limit; i++) {
    const at = text.charCodeAt(i);
    if (inText) {
      if (at === BACKSLASH) i++;
      else if (at === QUOTE) inText = false;
    } else if (at === QUOTE) inText = true;
    else if (OPENING.has(at)) deepest = Math.max(deepest, ++depth);
    else if (CLOSING.has(at)) depth--;
  }
  return deepest;
};

export interface LossyNumber {
  /** Member names and array indexes from the root, for example `['payload', 'orders', 0]`. */
  path: (string | number)[];
  /** The number as the text spells it, cut to 40 characters. */
  number: string;
}

/**
 * Matches every number that could lose digits, and some that do not. A text without a match, as
 * most are, needs no scan.
 */
const SUSPECT = /\d{16}|[eE]\+?\d{2}/;
/** Matches strings, numbers, and the punctuation that determines the path of a value. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{},:]/gs;

/**
 * Returns the first number of a valid JSON text that would change when parsed: a whole number above
 * 2^53 that no double represents, or a number beyond the range of doubles. Null: there is none. A
 * fraction that is merely rounded is not reported. With `within`, checks only these members of the
 * top-level object.
 */
export const lossyNumber = (text: string, within?: readonly string[]): LossyNumber | null => {
  if (!SUSPECT.test(text)) return null;
  /** Position of the scan: the current name or index in each open object or array. */
  const path: (string | number)[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKENS)) {
    switch (token) {
      case '{':
        path.push('');
        break;
      case '[':
        path.push(0);
        break;
      case '}':
      case ']':
        path.pop();
        break;
      case ':':
        path[path.length - 1] = JSON.parse(last) as string;
        break;
      case ',': {
        const at = path.at(-1);
        if (typeof at === 'number') path[path.length - 1] = at + 1;
        break;
      }
      default:
        if (!token.startsWith('"') && isRead(path, within) && losesDigits(token))
          return { path, number: token.slice(0, 40) };
    }
    last = token;
  }
  return null;
};

const isRead = ([member]: LossyNumber['path'], within?: readonly string[]): boolean =>
  within === undefined || (typeof member === 'string' && within.includes(member));

const losesDigits = (number: string): boolean => {
  const read = Number(number);
  if (!Number.isFinite(read)) return true;
  return /^-?\d+$/.test(number) && !Number.isSafeInteger(read) && BigInt(number) !== BigInt(read);
};

/** Formats a path as errors name fields: `payload.orders[0]`; empty for the whole text. */
export const fieldAt = (path: LossyNumber['path']): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');

/** Returns the error text for a number that would lose digits. */
export const lossyNumberMessage = (number: string): string =>
  `expected a number that can be stored exactly, got ${number}: whole numbers are exact up to 2^53 (9007199254740992). Send it as text.`;

/**
 * JSON values and names of one completion, or of an answer of 8 MB or less, counted before it is
 * parsed: up to some 200 bytes of memory each. A result has about seven.
 */
export const MOST_VALUES = 1_000_000;

export interface Scanned {
  /** Deepest nesting of arrays and objects. */
  depth: number;
  /** JSON values and names of members: texts, numbers, words, arrays and objects. */
  values: number;
}

/**
 * Counts what a JSON text would become in memory, from its bytes and without building any of it.
 * Stops where a count exceeds its limit; the other one is not complete then. Of what is not JSON
 * the counts mean nothing.
 */
export const scan = (bytes: Uint8Array, most: Scanned): Scanned => {
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
const endOfText = (bytes: Uint8Array, from: number): number => {
  for (let i = from + 1; i < bytes.length; i++) {
    const at = bytes[i]!;
    if (at === BACKSLASH) i++;
    else if (at === QUOTE) return i;
  }
  return bytes.length;
};

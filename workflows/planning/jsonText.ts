/**
 * Checks whether a JSON text can be stored and read again without loss. The library, the command
 * line and the HTTP API share these checks. Pure.
 */

/** Deepest nesting of arrays and objects in a payload. */
export const MAX_JSON_DEPTH = 100;

export const QUOTE = 34;
export const BACKSLASH = 92;
const OPENING: ReadonlySet<number> = new Set([91, 123]);
const CLOSING: ReadonlySet<number> = new Set([93, 125]);

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

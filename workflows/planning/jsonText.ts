/**
 * Checks whether a JSON text can be stored and read again without loss; the same for the library,
 * the command line and HTTP. Pure.
 */

/** Deepest nesting of arrays and objects in a payload. */
export const MAX_JSON_DEPTH = 100;

const QUOTE = 34;
const BACKSLASH = 92;
const OPENING: ReadonlySet<number> = new Set([91, 123]);
const CLOSING: ReadonlySet<number> = new Set([93, 125]);

/**
 * Returns the deepest nesting of arrays and objects, read without parsing; stops early above
 * `limit`.
 */
export const depthOf = (text: string, limit = MAX_JSON_DEPTH): number => {
  if (text.length <= limit) return 0; // too short to be any deeper: what is asked is whether the limit holds
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
  /** Names and places from the root, for example `['payload', 'orders', 0]`. */
  path: (string | number)[];
  /** As in the text, cut to 40 characters. */
  number: string;
}

/**
 * A text without any of this has no number that could lose digits: most texts need no second look.
 */
const SUSPECT = /\d{16}|[eE]\+?\d{2}/;
/** Strings, numbers, and the characters that give a value its place. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{},:]/gs;

/**
 * Returns the first number of a valid JSON text that would change when read: a whole number above
 * 2^53 that no double holds, or one too large for any. Fractions are rounded as everywhere.
 * `within`: looks only into these members of the object that the text is.
 */
export const lossyNumber = (text: string, within?: readonly string[]): LossyNumber | null => {
  if (!SUSPECT.test(text)) return null;
  /** Position of the scan: the name or place in each open object or array. */
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

/** Names a place as errors name fields: `payload.orders[0]`; empty for the whole text. */
export const fieldAt = (path: LossyNumber['path']): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`))
    .join('')
    .replace(/^\./, '');

/** Returns what to do about such a number. */
export const lossyNumberMessage = (number: string): string =>
  `expected a number that can be stored exactly, got ${number}: whole numbers are exact up to 2^53 (9007199254740992). Send it as text.`;

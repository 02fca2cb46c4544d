/** Most characters of a normalised text. */
export const NORMALISED_MAX = 300;
/** What is beyond is not looked at: the beginning of an error says what it is. */
const LOOKED_AT = 2_000;

const CLOCK = String.raw`\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?`;
/**
 * What differs from one error to the next of the same kind, in the order in which it is looked for
 * at each place. A status of three digits stays: 404 and 503 are not the same error.
 */
const PLACEHOLDERS: readonly (readonly [placeholder: string, pattern: string])[] = [
  ['url', String.raw`\b[a-z][a-z0-9+.-]*:\/\/[^\s"'\`<>)\]]+`],
  ['str', String.raw`"(?:[^"\\\n]|\\.)*"|(?<!\w)'[^'\n]*'(?!\w)|\`[^\`\n]*\``],
  ['time', String.raw`\d{4}-\d\d-\d\d(?:[T ]${CLOCK}(?:Z|[+-]\d\d:?\d\d)?)?|\b${CLOCK}`],
  ['uuid', String.raw`\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`],
  ['hex', String.raw`\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)[0-9a-f]{8,}\b(?<=[a-f][0-9a-f]*)`],
  ['n', String.raw`(?<!\d)(?!(?<=\b(?:http|status|code)\W{1,3})\d{3}(?!\d))\d+(?:[.,]\d+)*`],
];
const VARIABLE = new RegExp(PLACEHOLDERS.map(([name, pattern]) => `(?<${name}>${pattern})`).join('|'), 'gi');

/** Matches a placeholder in a normalised text. */
const PLACEHOLDER = new RegExp(`<(?:${PLACEHOLDERS.map(([name]) => name).join('|')})>`);

/**
 * Returns an error's text with placeholders for what differs from one error to the next: `HTTP 503
 * for order <n> at <url>`. At most `NORMALISED_MAX` characters; what was normalised stays as it is.
 */
export const normaliseError = (text: string): string => {
  let normalised = settled(text.slice(0, LOOKED_AT));
  // A cut may end what was no number or quoted text before.
  while (normalised.length > NORMALISED_MAX) normalised = settled(normalised.slice(0, NORMALISED_MAX));
  return normalised;
};

/**
 * Replaces until nothing is left to replace. It ends: each replacement takes a digit, quotes or
 * `://` away, and no placeholder has any.
 */
const settled = (text: string): string => {
  for (let before = text; ;) {
    const after = replaced(before);
    if (after === before) return after;
    before = after;
  }
};

const replaced = (text: string): string =>
  text.replace(VARIABLE, (...found: unknown[]) => {
    const groups = found.at(-1) as Record<string, string | undefined>;
    return `<${Object.keys(groups).find((name) => groups[name] !== undefined)!}>`;
  });

/** The shortest piece that is worth looking for. */
const TELLING = 4;

/**
 * Returns the longest piece of a normalised text that stands in each of its errors as it is; null:
 * none is long enough to tell them from others.
 */
export const commonPiece = (normalised: string): string | null => {
  const pieces = normalised.split(PLACEHOLDER).map((piece) => piece.split('\n').map((line) => line.trim()));
  const longest = pieces.flat().reduce((most, piece) => (piece.length > most.length ? piece : most), '');
  return longest.length < TELLING ? null : longest;
};

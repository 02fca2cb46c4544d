import { InvalidArgumentError } from '../errors';

/** Values of the columns of an index: a page begins after them. */
export type Place = readonly (string | number)[];

/** Longer than any cursor: a target's key has at most 512 bytes. */
const CURSOR_MAX = 4_000;

/** Looks that one page makes at most, where few rows match. */
export const MOST_LOOKS = 10;

/** Returns the `next` of a page of this list. */
export const encodePlace = (list: string, place: Place): string =>
  Buffer.from(JSON.stringify([list, ...place])).toString('base64url');

/**
 * Reads the `next` of a page; none: the list begins at `first`.
 *
 * @throws InvalidArgumentError when it is none, or one of another list.
 */
export const decodePlace = <P extends Place>(list: string, first: P, after: unknown): P => {
  if (after === undefined) return first;
  const [of, ...place] = readCursor(after);
  if (of !== list || !fitsPlace(first, place))
    throw new InvalidArgumentError('after', 'the `next` of a page of the same list', after);
  return place as unknown as P;
};

/** Returns the values of a `next`; of anything else none. */
export const readCursor = (text: unknown): unknown[] => {
  if (typeof text !== 'string' || text.length > CURSOR_MAX) return [];
  try {
    const values: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(values) ? values : [];
  } catch {
    return [];
  }
};

/** Says whether a place has the columns of the first one, each of its type. */
export const fitsPlace = (first: Place, place: readonly unknown[]): boolean =>
  place.length === first.length &&
  place.every((value, i) =>
    typeof first[i] === 'string' ? typeof value === 'string' && !value.includes('\0') : Number.isSafeInteger(value),
  );

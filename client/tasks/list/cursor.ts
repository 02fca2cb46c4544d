import { InvalidArgumentError } from '../../errors';
import { fitsPlace, readCursor } from '../../listing/pageCursor';
import type { Place, Source } from './sources';

/** Where a list goes on: the table, by its number among those of the list, and the place in it. */
export interface Cursor {
  source: number;
  place: Place;
}

/** What a list is of, such as a state, and where its tasks are found. */
export interface Listing {
  name: string;
  sources: readonly Source[];
}

export const encodeCursor = ({ name, sources }: Listing, { source, place }: Cursor): string =>
  Buffer.from(JSON.stringify([name, sources[source]!.name, ...place])).toString('base64url');

/**
 * Reads the `next` of a page.
 *
 * @throws InvalidArgumentError when it is none, or one of another list.
 */
export const decodeCursor = ({ name, sources }: Listing, text: unknown): Cursor => {
  const [of, table, ...place] = readCursor(text);
  const source = sources.findIndex((one) => one.name === table);
  if (of !== name || source < 0 || !fitsPlace(sources[source]!.first, place))
    throw new InvalidArgumentError('after', `the \`next\` of a page of ${name} tasks`, text);
  return { source, place: place as Place };
};

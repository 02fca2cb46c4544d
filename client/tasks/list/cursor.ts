import type { TaskState } from '../../../workflows/planning/states';
import { InvalidArgumentError } from '../../errors';
import { fitsPlace, readCursor } from '../../listing/pageCursor';
import type { Place } from './sources';
import { SOURCES } from './sources';

/** Where a list goes on: the table, by its number among those of the state, and the place in it. */
export interface Cursor {
  source: number;
  place: Place;
}

export const encodeCursor = (state: TaskState, { source, place }: Cursor): string =>
  Buffer.from(JSON.stringify([state, SOURCES[state][source]!.name, ...place])).toString('base64url');

/**
 * Reads the `next` of a page.
 *
 * @throws InvalidArgumentError when it is none, or one of another state's list.
 */
export const decodeCursor = (state: TaskState, text: unknown): Cursor => {
  const [ofState, name, ...place] = readCursor(text);
  const source = SOURCES[state].findIndex((one) => one.name === name);
  if (ofState !== state || source < 0 || !fitsPlace(SOURCES[state][source]!.first, place))
    throw new InvalidArgumentError('after', `the \`next\` of a page of ${state} tasks`, text);
  return { source, place: place as Place };
};

import type { TaskState } from '../../../workflows/planning/states';
import { InvalidArgumentError } from '../../errors';
import { CURSOR_MAX } from '../../listing/pageCursor';
import type { Place, Source } from './sources';
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
  const values = typeof text === 'string' && text.length <= CURSOR_MAX ? parsed(text) : null;
  const [ofState, name, ...place] = values ?? [];
  const source = SOURCES[state].findIndex((one) => one.name === name);
  if (ofState !== state || source < 0 || !fits(SOURCES[state][source]!, place))
    throw new InvalidArgumentError('after', `the \`next\` of a page of ${state} tasks`, text);
  return { source, place: place as Place };
};

const parsed = (text: string): unknown[] | null => {
  try {
    const values: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(values) ? values : null;
  } catch {
    return null;
  }
};

/** Says whether a place has the columns of the source, each of its type. */
const fits = ({ first }: Source, place: readonly unknown[]): boolean =>
  place.length === first.length &&
  place.every((value, i) =>
    typeof first[i] === 'string' ? typeof value === 'string' && !value.includes('\0') : Number.isSafeInteger(value),
  );

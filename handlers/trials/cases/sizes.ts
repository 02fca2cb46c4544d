import type { Case, Judge } from '../case';
import { all, both } from '../case';
import type { Handler } from '../../types';
import type { Wire } from '../trial';

const needsBytes = (wire: Wire, { limits }: Handler): string | undefined => {
  if (wire.maxBytes === undefined) return 'the downstream has no limit of bytes';
  return limits.maxBytes === undefined ? 'the handler has no limits.maxBytes' : undefined;
};

/** A batch that is full by the handler's count must fit by the downstream's. */
const fits: Judge = ({ calls: [seen], countedBytes, handler, wire }) => {
  if (handler.limits.maxBytes! > wire.maxBytes!)
    return `expected limits.maxBytes of at most ${wire.maxBytes}, got ${handler.limits.maxBytes}`;
  if (seen?.bytes === undefined) return 'expected a call with a size, got none';
  return seen.bytes <= countedBytes
    ? undefined
    : `expected bytesOf and overheadBytes to count at least the ${seen.bytes} bytes of the call, got ${countedBytes}`;
};

const counts = (name: string, text: string): Case => ({
  name,
  room: 'sizes',
  skips: needsBytes,
  text,
  judge: both(fits, all('succeeded')),
});

/** The handler's count of bytes against the downstream's. */
export const SIZE_CASES: readonly Case[] = [
  counts('counts the bytes of plain text', 'x'.repeat(2_000)),
  counts('counts the bytes of text beyond ASCII', 'äöü€😀'.repeat(200)),
  counts('counts the bytes of quotes, backslashes and line ends', '"\\\n\t'.repeat(400)),
];

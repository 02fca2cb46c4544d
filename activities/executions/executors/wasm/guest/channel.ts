import { readSync, writeSync } from 'node:fs';
import { decodeBody, HEADER_BYTES, lengthsOf } from './frames';
import type { Frame } from './frames';

/** The process's side of its pipes: it waits for each frame, since it has nothing else to do. */

const REQUESTS = 0;
const ANSWERS = 1;

/** Null: the node has closed the pipe. */
export const readFrame = (): Frame | null => {
  const header = readExactly(HEADER_BYTES);
  if (header === null) return null;
  const lengths = lengthsOf(header);
  const body = readExactly(lengths.head + lengths.first + lengths.second);
  return body === null ? null : decodeBody(body, lengths);
};

export const writeFrame = (frame: Buffer): void => {
  for (let done = 0; done < frame.length;) done += writeSync(ANSWERS, frame, done);
};

const readExactly = (length: number): Buffer | null => {
  const bytes = Buffer.alloc(length);
  for (let done = 0; done < length;) {
    const read = readSync(REQUESTS, bytes, done, length - done, null);
    if (read === 0) return null;
    done += read;
  }
  return bytes;
};

import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { base32nopad } from '@scure/base';
import { isContentId } from '../../../../handlers/functions';

/**
 * Reads a folder of modules: `<content id>/<method>`, the id being the sha256 of the file's bytes,
 * in hex or as a CIDv1 (raw, sha2-256, base32). A file whose bytes do not match its id is refused,
 * so that a node runs what the request named and nothing else.
 */

/** CIDv1, raw, sha2-256, 32 bytes. */
const CID_PREFIX = [0x01, 0x55, 0x12, 0x20];

/** Returns both spellings of a module's id. */
export const contentIdsOf = (bytes: Uint8Array): { sha256: string; cid: string } => {
  const digest = createHash('sha256').update(bytes).digest();
  return {
    sha256: digest.toString('hex'),
    cid: `b${base32nopad.encode(Buffer.concat([Buffer.from(CID_PREFIX), digest])).toLowerCase()}`,
  };
};

/** One path segment, so that nothing leads out of the folder. */
const METHOD = /^[\w][\w.-]{0,127}$/;

/** Longest module: compiling takes a multiple of it in memory. */
const MODULE_BYTES_MAX = 64 * 1_048_576;

/**
 * Returns the verified bytes of a module. Throws with what is wrong, which becomes the reason of
 * every item.
 */
export const readModule = async (store: string, functionId: string, method: string): Promise<Uint8Array> => {
  if (!METHOD.test(method))
    throw new Error(`method: expected a file name of a-z, A-Z, 0-9, _, - and ., got ${JSON.stringify(method)}`);
  const file = path.join(store, functionId, method);
  let bytes: Uint8Array;
  try {
    const { size } = await stat(file);
    if (size > MODULE_BYTES_MAX) throw new TooLong(size);
    bytes = await readFile(file);
  } catch (error) {
    if (error instanceof TooLong) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`the function store of this node has no ${functionId}/${method} (${code})`, { cause: error });
  }
  const { sha256, cid } = contentIdsOf(bytes);
  if (functionId !== sha256 && functionId !== cid)
    throw new Error(`the module ${functionId}/${method} in the function store of this node has other content: ${cid}`);
  return bytes;
};

class TooLong extends Error {
  constructor(size: number) {
    super(`the module has ${size} bytes, and a node runs modules of at most ${MODULE_BYTES_MAX}`);
  }
}

/** Returns the ids that a store has, by its folders; none if there is no such folder. */
export const storedIds = async (store: string): Promise<string[]> => {
  const entries = await readdir(store).catch(() => []);
  return entries.filter(isContentId);
};

import { createHash, randomUUID } from 'node:crypto';
import { CodecError, reasonOf } from './codecError';
import type { StoredObject } from './envelope';
import { toReference } from './envelope';
import type { ObjectStore, ObjectStoreOptions } from './types';

export const DEFAULT_OVER_BYTES = 65_536;

/** Keeps large values in an object store; the database then has a reference to each. */
export class ClaimCheck {
  private readonly store: ObjectStore;
  private readonly overBytes: number;

  constructor({ store, overBytes = DEFAULT_OVER_BYTES }: ObjectStoreOptions) {
    this.store = store;
    this.overBytes = overBytes;
  }

  /**
   * Returns JSON text as it is, or, if it is large, a reference to an object that holds it. The key
   * is random: it says nothing of the value.
   */
  async put(json: string): Promise<string> {
    if (json.length <= this.overBytes && Buffer.byteLength(json) <= this.overBytes) return json;
    const data = Buffer.from(json);
    const key = randomUUID();
    try {
      await this.store.put(key, data);
    } catch (error) {
      throw new CodecError(`the object store did not take it: ${reasonOf(error)}`, true, { cause: error });
    }
    return toReference({ key, sha256: digestOf(data), bytes: data.length });
  }

  /** Returns the JSON text of an object. Throws `CodecError` if it is not what was stored. */
  async get({ key, sha256, bytes }: StoredObject): Promise<string> {
    let data: Uint8Array | null;
    try {
      data = await this.store.get(key);
    } catch (error) {
      throw new CodecError(`the object store does not answer: ${reasonOf(error)}`, true, { cause: error });
    }
    if (data === null) throw new CodecError(`object ${key} is missing in the object store`, false);
    if (data.length !== bytes || digestOf(data) !== sha256)
      throw new CodecError(`object ${key} is not what was stored: its checksum differs`, false);
    return Buffer.from(data).toString();
  }
}

const digestOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

import { createHash, randomUUID } from 'node:crypto';
import { CodecError, reasonOf } from './codecError';
import type { StoredObject } from './envelope';
import { toReference } from './envelope';
import { inParts } from './inParts';
import { CALL_MS, inTime } from './inTime';
import type { ObjectStore, ObjectStoreOptions } from './types';

export const DEFAULT_OVER_BYTES = 65_536;
/** The slowest store that counts as one that answers: so many bytes per ms beyond `CALL_MS`. */
const SLOWEST_BYTES_PER_MS = 250;

/** Keeps large values in an object store; the database then has a reference to each. */
export class ClaimCheck {
  private readonly store: ObjectStore;
  private readonly overBytes: number;

  constructor(
    { store, overBytes = DEFAULT_OVER_BYTES }: ObjectStoreOptions,
    private readonly callMs = CALL_MS,
  ) {
    this.store = store;
    this.overBytes = overBytes;
  }

  /** Says whether objects can be deleted. */
  get deletes(): boolean {
    return this.store.delete !== undefined;
  }

  /**
   * Returns JSON texts, of which the large ones are replaced by references to objects that hold
   * them. The keys are random: they say nothing of the values. `note` is told of them first.
   */
  async putLarge(values: readonly string[], parallel: number, note?: Note): Promise<string[]> {
    const keyed = values.map((json) => ({ json, key: this.isLarge(json) ? randomUUID() : null }));
    const keys = keyed.flatMap(({ key }) => key ?? []);
    if (keys.length === 0) return [...values];
    await note?.(keys);
    return inParts(keyed, 1, parallel, async ([one]) => [
      one!.key === null ? one!.json : await this.put(one!.key, one!.json),
    ]);
  }

  /** Says whether a JSON text is kept as an object. */
  isLarge(json: string): boolean {
    return json.length > this.overBytes || Buffer.byteLength(json) > this.overBytes;
  }

  private async put(key: string, json: string): Promise<string> {
    const data = Buffer.from(json);
    try {
      await inTime(() => this.store.put(key, data), this.mostMs(data.length));
    } catch (error) {
      throw new CodecError(`the object store did not take it: ${reasonOf(error)}`, true, { cause: error });
    }
    return toReference({ key, sha256: digestOf(data), bytes: data.length });
  }

  /** Returns for how long a value of so many bytes is waited for: a large one takes its time. */
  private mostMs(bytes: number): number {
    return this.callMs + bytes / SLOWEST_BYTES_PER_MS;
  }

  /** Deletes an object. Throws what the store throws, and an error after 30 s. */
  async delete(key: string): Promise<void> {
    await inTime(() => this.store.delete!(key), this.callMs);
  }

  /** Returns the JSON text of an object. Throws `CodecError` if it is not what was stored. */
  async get({ key, sha256, bytes }: StoredObject): Promise<string> {
    let data: Uint8Array | null;
    try {
      data = await inTime(() => this.store.get(key), this.mostMs(bytes));
    } catch (error) {
      throw new CodecError(`the object store does not answer: ${reasonOf(error)}`, true, { cause: error });
    }
    if (data === null) throw new CodecError(`object ${key} is missing in the object store`, false);
    if (data.length !== bytes || digestOf(data) !== sha256)
      throw new CodecError(`object ${key} is not what was stored: its checksum differs`, false);
    return Buffer.from(data).toString();
  }
}

/** Is told of the keys of objects before they are stored. */
export type Note = (keys: string[]) => Promise<void>;

const digestOf = (data: Uint8Array): string => createHash('sha256').update(data).digest('hex');

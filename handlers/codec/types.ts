/**
 * A value on its way into the store or out of it. It has the form of a payload of Temporal, so that
 * a `PayloadCodec` for Temporal serves both.
 */
export interface EncodedPayload {
  metadata?: Record<string, Uint8Array> | null;
  data?: Uint8Array | null;
}

/** What a value is. */
export type ValueKind = 'payload' | 'result' | 'error' | 'arguments' | 'metadata';

/**
 * Whose values they are, so that a codec can bind each value to its place (associated data of an
 * AEAD cipher): one that was moved to another task is then refused.
 */
export interface CodecContext {
  type: 'muster';
  /** The same when a value is encoded and when it is decoded. */
  kind: ValueKind;
  /**
   * The id of each value's task, in the order of the values. Null where a value is of no single
   * task: an error text, a list of arguments, a result that was set by hand. A value that was
   * encoded with null may be decoded with an id, never the other way round.
   */
  taskIds: readonly (string | null)[];
}

/**
 * Encodes what Muster stores in Postgres for its callers, such as by encryption. The methods are
 * those of Temporal's `PayloadCodec`: a list in, a list of the same length and order out. What
 * `encode` gets has the encoding `json/plain`; `context` is a {@link CodecContext}. Several calls
 * may run at once.
 *
 * An error of `decode` concerns the whole list: its values are then decoded one by one, so that one
 * that cannot be decoded does not harm the others.
 */
export interface PayloadCodec {
  encode(payloads: EncodedPayload[], context?: unknown): Promise<EncodedPayload[]>;
  decode(payloads: EncodedPayload[], context?: unknown): Promise<EncodedPayload[]>;
}

/** Where large values are kept, such as a bucket. */
export interface ObjectStore {
  /** Stores an object. A repeated key has the same content. */
  put(key: string, data: Uint8Array): Promise<void>;
  /** Returns an object; null: there is none. Throws where the store does not answer. */
  get(key: string): Promise<Uint8Array | null>;
  /**
   * Deletes an object; one that is not there is deleted. With it Muster deletes objects that no
   * task needs any more, and without it none.
   */
  delete?(key: string): Promise<void>;
}

/** Values of more than so many bytes, encoded, are kept in an object store. */
export interface ObjectStoreOptions {
  store: ObjectStore;
  /** 1,024 to 100,000,000; default 65,536. */
  overBytes?: number;
}

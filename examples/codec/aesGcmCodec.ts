import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { DecipherGCM } from 'node:crypto';
import type { CodecContext, EncodedPayload, PayloadCodec } from '../../client';

const ENCODING = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

/** What a value is bound to; it stands beside the value. */
const BOUND = { kind: 'kind', task: 'kind+task' } as const;
type Bound = (typeof BOUND)[keyof typeof BOUND];
/** The kind of a value, and its task, if it is of a single one. */
interface Place {
  kind: string;
  taskId: string | null;
}

/** Returns where a value belongs; null: it is one of Temporal, which stands in its history. */
const placeOf = (context: unknown, i: number): Place | null => {
  const { type, kind, taskIds } = (context ?? {}) as Partial<CodecContext>;
  return type !== 'muster' || kind === undefined ? null : { kind, taskId: taskIds?.[i] ?? null };
};

/** Returns what is authenticated with a value: where it belongs. */
const associated = (bound: Bound, { kind, taskId }: Place): Buffer =>
  Buffer.from(JSON.stringify(bound === BOUND.task ? [kind, taskId] : [kind]));

/**
 * Encrypts with AES-256-GCM. Values are encrypted with the newest key, whose id is beside each
 * value; older keys only decrypt. Each value is bound to its kind and its task: moved elsewhere, it
 * is refused. It has the form of Temporal's `PayloadCodec`, so that the same
 * object serves `temporal.dataConverter.payloadCodecs`.
 */
export class AesGcmCodec implements PayloadCodec {
  /** `keys`: by id, 32 bytes each. `newest`: the id of the one that encrypts. */
  constructor(
    private readonly keys: ReadonlyMap<string, Buffer>,
    private readonly newest: string,
  ) {
    for (const [id, key] of keys)
      if (key.length !== KEY_BYTES) throw new Error(`key ${id}: expected ${KEY_BYTES} bytes, got ${key.length}`);
    this.keyOf(newest);
  }

  // Both are asynchronous, as with a key service.
  encode(payloads: EncodedPayload[], context?: unknown): Promise<EncodedPayload[]> {
    return Promise.resolve(payloads.map((one, i) => this.encrypt(one, placeOf(context, i))));
  }

  decode(payloads: EncodedPayload[], context?: unknown): Promise<EncodedPayload[]> {
    return Promise.resolve().then(() => payloads.map((one, i) => this.decrypt(one, placeOf(context, i))));
  }

  private encrypt({ metadata, data }: EncodedPayload, place: Place | null): EncodedPayload {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.keyOf(this.newest), iv);
    const bound = place === null ? null : place.taskId === null ? BOUND.kind : BOUND.task;
    if (bound !== null) cipher.setAAD(associated(bound, place!));
    // What the payload is, is encrypted with it.
    const plain = Buffer.concat([
      Buffer.from(`${text(metadata?.['encoding'])}\n`),
      Buffer.from(data ?? new Uint8Array()),
    ]);
    const encrypted = Buffer.concat([cipher.update(plain), cipher.final()]);
    return {
      metadata: {
        encoding: Buffer.from(ENCODING),
        'encryption-key-id': Buffer.from(this.newest),
        ...(bound === null ? {} : { bound: Buffer.from(bound) }),
      },
      data: Buffer.concat([iv, cipher.getAuthTag(), encrypted]),
    };
  }

  private decrypt(payload: EncodedPayload, place: Place | null): EncodedPayload {
    const { metadata, data } = payload;
    if (text(metadata?.['encoding']) !== ENCODING) return payload; // from before it was encrypted
    const bytes = Buffer.from(data ?? new Uint8Array());
    const decipher = createDecipheriv(
      CIPHER,
      this.keyOf(text(metadata?.['encryption-key-id'])),
      bytes.subarray(0, IV_BYTES),
      { authTagLength: TAG_BYTES },
    );
    decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    // One without it is from before values were bound. To take it away, or to change it, is no way
    // around: the tag fits only what was authenticated when the value was encrypted.
    const bound = text(metadata?.['bound']);
    if (bound !== '') decipher.setAAD(associated(bound as Bound, place ?? { kind: '', taskId: null }));
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), ended(decipher, place)]);
    const end = plain.indexOf('\n');
    return { metadata: { encoding: plain.subarray(0, end) }, data: plain.subarray(end + 1) };
  }

  private keyOf(id: string): Buffer {
    const key = this.keys.get(id);
    if (key === undefined) throw new Error(`there is no key ${id} here`);
    return key;
  }
}

/** Checks that the value was encrypted with this key for this place. */
const ended = (decipher: DecipherGCM, place: Place | null): Buffer => {
  try {
    return decipher.final();
  } catch {
    const of = place?.taskId == null ? '' : ` of task ${JSON.stringify(place.taskId)}`;
    throw new Error(`it was not encrypted as the ${place?.kind ?? 'value'}${of}: it was moved here or changed`);
  }
};

/** Reads keys as `id:base64`, separated by commas, the newest first. */
export const codecOf = (keys: string): AesGcmCodec => {
  const read = keys.split(',').map((one): [string, Buffer] => {
    const [id = '', key = ''] = one.split(':');
    return [id, Buffer.from(key, 'base64')];
  });
  return new AesGcmCodec(new Map(read), read[0]![0]);
};

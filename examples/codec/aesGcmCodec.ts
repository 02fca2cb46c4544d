import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { EncodedPayload, PayloadCodec } from '../../client';

const ENCODING = 'binary/encrypted';
const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString();

/**
 * Encrypts with AES-256-GCM. Values are encrypted with the newest key, whose id is beside each
 * value; older keys only decrypt. It has the form of Temporal's `PayloadCodec`, so that the same
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
  encode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    return Promise.resolve(payloads.map((one) => this.encrypt(one)));
  }

  decode(payloads: EncodedPayload[]): Promise<EncodedPayload[]> {
    return Promise.resolve().then(() => payloads.map((one) => this.decrypt(one)));
  }

  private encrypt({ metadata, data }: EncodedPayload): EncodedPayload {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.keyOf(this.newest), iv);
    // What the payload is, is encrypted with it.
    const plain = Buffer.concat([
      Buffer.from(`${text(metadata?.['encoding'])}\n`),
      Buffer.from(data ?? new Uint8Array()),
    ]);
    const encrypted = Buffer.concat([cipher.update(plain), cipher.final()]);
    return {
      metadata: { encoding: Buffer.from(ENCODING), 'encryption-key-id': Buffer.from(this.newest) },
      data: Buffer.concat([iv, cipher.getAuthTag(), encrypted]),
    };
  }

  private decrypt(payload: EncodedPayload): EncodedPayload {
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
    const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]);
    const end = plain.indexOf('\n');
    return { metadata: { encoding: plain.subarray(0, end) }, data: plain.subarray(end + 1) };
  }

  private keyOf(id: string): Buffer {
    const key = this.keys.get(id);
    if (key === undefined) throw new Error(`there is no key ${id} here`);
    return key;
  }
}

/** Reads keys as `id:base64`, separated by commas, the newest first. */
export const codecOf = (keys: string): AesGcmCodec => {
  const read = keys.split(',').map((one): [string, Buffer] => {
    const [id = '', key = ''] = one.split(':');
    return [id, Buffer.from(key, 'base64')];
  });
  return new AesGcmCodec(new Map(read), read[0]![0]);
};

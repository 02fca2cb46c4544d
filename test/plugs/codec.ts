import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { temporal } from '@temporalio/proto';

const ENCODING = 'binary/encrypted';

/**
 * Encrypts whole payloads with AES-256-GCM, as a user's codec does; it throws on what is not
 * encrypted with its key.
 */
export class EncryptionCodec implements PayloadCodec {
  constructor(private readonly key: Buffer = randomBytes(32)) {}

  encode(payloads: Payload[]): Promise<Payload[]> {
    return Promise.resolve(payloads.map((payload) => this.encrypt(payload)));
  }
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => this.decrypt(payload));
  }

  private encrypt(payload: Payload): Payload {
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', this.key, iv);
    const plain = temporal.api.common.v1.Payload.encode(payload).finish();
    const data = Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    return { metadata: { encoding: Buffer.from(ENCODING) }, data };
  }
  private decrypt({ metadata, data }: Payload): Payload {
    const encoding = Buffer.from(metadata?.['encoding'] ?? []).toString();
    if (encoding !== ENCODING) throw new Error(`not encrypted: ${encoding}`);
    const bytes = Buffer.from(data!);
    const decipher = createDecipheriv('aes-256-gcm', this.key, bytes.subarray(0, 12));
    decipher.setAuthTag(bytes.subarray(-16));
    return temporal.api.common.v1.Payload.decode(
      Buffer.concat([decipher.update(bytes.subarray(12, -16)), decipher.final()]),
    );
  }
}

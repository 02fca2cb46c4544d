import type * as Sdk from '@aws-sdk/client-s3';
import type { ObjectStore } from '../../codec/types';
import { ConfigError } from '../../configError';

export type { ObjectStore } from '../../codec/types';

/** Options of `s3Store`. */
export interface S3StoreOptions {
  /** The user's own client, with its region, credentials, retries and timeouts. */
  client: Sdk.S3Client;
  bucket: string;
  /** Stands in front of each key, such as `muster/`. Default: nothing. */
  prefix?: string;
}

/** S3 counts UTF-8 bytes; Muster's keys have 36. */
const PREFIX_BYTES_MAX = 900;

/**
 * Returns an object store on a bucket of S3, or of a server that speaks its protocol, for
 * `objectStore`. It needs the rights s3:PutObject, s3:GetObject and s3:DeleteObject, and
 * s3:ListBucket: without that S3 answers 403 for an object that is missing, as if the bucket were
 * away. Objects of deleted tasks are deleted. Throws `ConfigError`.
 */
export function s3Store({ client, bucket, prefix = '' }: S3StoreOptions): ObjectStore {
  check(client, bucket, prefix);
  const at = (key: string) => ({ Bucket: bucket, Key: `${prefix}${key}` });
  const sdk = (): Promise<typeof Sdk> => import('@aws-sdk/client-s3');
  return {
    async put(key, data) {
      const { PutObjectCommand } = await sdk();
      await client.send(new PutObjectCommand({ ...at(key), Body: data, ContentType: 'application/octet-stream' }));
    },
    async get(key) {
      const { GetObjectCommand } = await sdk();
      try {
        const { Body } = await client.send(new GetObjectCommand(at(key)));
        return await Body!.transformToByteArray();
      } catch (error) {
        if (isMissing(error)) return null;
        throw error;
      }
    },
    async delete(key) {
      const { DeleteObjectCommand } = await sdk();
      await client.send(new DeleteObjectCommand(at(key)));
    },
  };
}

/** An absent bucket is not an absent object: it is as if the store were away. */
const isMissing = (error: unknown): boolean => error instanceof Error && error.name === 'NoSuchKey';

const check = (client: unknown, bucket: unknown, prefix: unknown): void => {
  const problems = [
    typeof (client as { send?: unknown } | null | undefined)?.send === 'function'
      ? null
      : { path: 'client', message: `expected an S3Client of @aws-sdk/client-s3, got ${typeof client}` },
    typeof bucket === 'string' && bucket !== ''
      ? null
      : { path: 'bucket', message: `expected the name of a bucket, got ${JSON.stringify(bucket) ?? 'nothing'}` },
    typeof prefix === 'string' && Buffer.byteLength(prefix) <= PREFIX_BYTES_MAX
      ? null
      : { path: 'prefix', message: `expected text of at most ${PREFIX_BYTES_MAX} bytes, got ${typeof prefix}` },
  ].filter((problem) => problem !== null);
  if (problems.length > 0) throw new ConfigError('an S3 store', problems);
};

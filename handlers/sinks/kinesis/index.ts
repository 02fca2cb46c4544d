import type * as Sdk from '@aws-sdk/client-kinesis';
import { z } from 'zod';
import type { Batch, CallContext, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import type { Trial } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { Handler } from '../../types';
import type { AwsOptions } from '../aws/client';
import { AwsCaller, LOCAL_AWS } from '../aws/client';
import type { RecordData } from '../aws/data';
import { bytesOfData, countData, dataShape, RECORD_BYTES_MAX } from '../aws/data';
import { placedResults } from '../aws/places';
import { readRefusal } from '../aws/refusal';
import { loadPackage } from '../missingPackage';
import type { SinkOptions, UnknownOptions } from '../options';
import { settingsOf } from '../options';
import { kinesisWire } from './wire';

export type { AwsCredentials, AwsOptions } from '../aws/client';
export type { RecordData } from '../aws/data';
export type { SinkOptions, UnknownOptions } from '../options';

/** A record for a stream. */
export interface KinesisRecord extends RecordData {
  /** The name of the stream, which is the target. */
  stream: string;
  /** 1-256 characters; chooses the shard. */
  partitionKey: string;
  explicitHashKey?: string;
}

/** Options of `kinesisSink`. */
export interface KinesisSinkOptions extends SinkOptions, UnknownOptions, AwsOptions<Sdk.KinesisClient> {}

/**
 * docs.aws.amazon.com/kinesis/latest/APIReference/API_PutRecords.html: 500 records; 5 MB and 1 MB,
 * data and partition keys, are what every account takes.
 */
const PUT_RECORDS_MAX = 500;
const BYTES_MAX = 5_000_000;

const SINK = 'the Kinesis sink';

const ERRORS = {
  later: ['LimitExceededException', 'ProvisionedThroughputExceededException'],
  halt: ['ResourceNotFoundException', 'ResourceInUseException'],
  rejected: ['InvalidArgumentException'],
};

const bytesOf = (record: KinesisRecord): number => countData(record) + Buffer.byteLength(record.partitionKey);

const schema: z.ZodType<KinesisRecord, KinesisRecord> = z
  .strictObject({
    stream: z.string().regex(/^[\w.-]{1,128}$/),
    partitionKey: z.string().min(1).max(256),
    explicitHashKey: z
      .string()
      .regex(/^\d{1,39}$/)
      .optional(),
    ...dataShape,
  })
  .refine((record) => bytesOf(record) <= RECORD_BYTES_MAX, `expected at most ${RECORD_BYTES_MAX} bytes`);

/**
 * Returns a handler that puts records with PutRecords, 500 per call. Kinesis knows no idempotency
 * key, and a record that is sent again comes after later ones. Needs `@aws-sdk/client-kinesis`.
 */
export function kinesisSink(options: KinesisSinkOptions): Handler<KinesisRecord> {
  const caller = new AwsCaller(
    {
      sink: SINK,
      packageName: '@aws-sdk/client-kinesis',
      load: () => import('@aws-sdk/client-kinesis'),
      create: async (sdk, settings) =>
        new sdk.KinesisClient({ ...settings, ...(await plainTransport(options.endpoint)) }),
    },
    options,
  );
  return defineHandler<KinesisRecord>({
    description: 'Kinesis PutRecords',
    ...settingsOf(options),
    schema,
    target: ({ stream }) => stream,
    bytesOf,
    limits: { maxItems: PUT_RECORDS_MAX, maxBytes: BYTES_MAX },
    maxPayloadBytes: 2 * RECORD_BYTES_MAX,
    onUnknown: options.onUnknown,
    submit: async (batch, context) => send(await caller.open(), batch, context),
    trial: () => trialOf(options),
  });
}

/** The SDK speaks HTTP/2 to Kinesis, which servers at a plain `http:` endpoint do not. */
async function plainTransport(endpoint: string | undefined) {
  if (endpoint?.startsWith('http:') !== true) return {};
  const { NodeHttpHandler } = await loadPackage(
    SINK,
    '@smithy/node-http-handler',
    () => import('@smithy/node-http-handler'),
  );
  return { requestHandler: new NodeHttpHandler() };
}

const trialOf = (options: KinesisSinkOptions): Trial<Handler> => ({
  at: (endpoint) => kinesisSink({ ...options, ...LOCAL_AWS, client: undefined, endpoint }),
  payload: (data) => ({ stream: 'certified', partitionKey: markIn(data), data }),
  wire: () => kinesisWire(PUT_RECORDS_MAX, BYTES_MAX),
});

async function send(
  { sdk, client }: { sdk: typeof Sdk; client: Sdk.KinesisClient },
  { target, tasks }: Batch<KinesisRecord>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const records = tasks.map(({ payload }) => ({
    Data: bytesOfData(payload),
    PartitionKey: payload.partitionKey,
    ExplicitHashKey: payload.explicitHashKey,
  }));
  const command = new sdk.PutRecordsCommand({ StreamName: target, Records: records });
  try {
    const { Records } = await client.send(command, { abortSignal: signal });
    const results = placedResults(Records, tasks.length, ({ ShardId, SequenceNumber }) => ({
      shardId: ShardId,
      sequenceNumber: SequenceNumber,
    }));
    return { results };
  } catch (thrown) {
    return readRefusal(thrown, ERRORS);
  }
}

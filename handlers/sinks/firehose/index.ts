import type * as Sdk from '@aws-sdk/client-firehose';
import { z } from 'zod';
import type { Batch, CallContext, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import type { Trial } from '../../trials/trial';
import type { Handler } from '../../types';
import type { AwsOptions } from '../aws/client';
import { AwsCaller, LOCAL_AWS } from '../aws/client';
import type { RecordData } from '../aws/data';
import { bytesOfData, countData, dataShape, RECORD_BYTES_MAX } from '../aws/data';
import { placedResults } from '../aws/places';
import { readRefusal } from '../aws/refusal';
import type { SinkOptions, UnknownOptions } from '../options';
import { settingsOf } from '../options';
import { firehoseWire } from './wire';

export type { AwsCredentials, AwsOptions } from '../aws/client';
export type { RecordData } from '../aws/data';
export type { SinkOptions, UnknownOptions } from '../options';

/** A record for a delivery stream. Firehose puts nothing between records: end `data` with "\n". */
export interface FirehoseRecord extends RecordData {
  /** The name of the stream, which is the target. */
  stream: string;
}

/** Options of `firehoseSink`. */
export interface FirehoseSinkOptions extends SinkOptions, UnknownOptions, AwsOptions<Sdk.FirehoseClient> {}

/**
 * docs.aws.amazon.com/firehose/latest/APIReference/API_PutRecordBatch.html: 500 records, 1,000 KB
 * per record before base64, 4 MB per request.
 */
const RECORDS_MAX = 500;
const BYTES_MAX = 4_000_000;

const ERRORS = {
  later: ['LimitExceededException', 'ServiceUnavailableException'],
  halt: ['InvalidKMSResourceException', 'InvalidSourceException', 'ResourceNotFoundException'],
  rejected: ['InvalidArgumentException'],
};

const schema: z.ZodType<FirehoseRecord, FirehoseRecord> = z
  .strictObject({ stream: z.string().regex(/^[\w.-]{1,64}$/), ...dataShape })
  .refine((record) => countData(record) <= RECORD_BYTES_MAX, `expected at most ${RECORD_BYTES_MAX} bytes`);

/**
 * Returns a handler that puts records with PutRecordBatch, 500 per call. Firehose knows no
 * idempotency key. Needs `@aws-sdk/client-firehose`.
 */
export function firehoseSink(options: FirehoseSinkOptions): Handler<FirehoseRecord> {
  const caller = new AwsCaller(
    {
      sink: 'the Firehose sink',
      packageName: '@aws-sdk/client-firehose',
      load: () => import('@aws-sdk/client-firehose'),
      create: (sdk, settings) => new sdk.FirehoseClient(settings),
    },
    options,
  );
  return defineHandler<FirehoseRecord>({
    description: 'Firehose PutRecordBatch',
    ...settingsOf(options),
    schema,
    target: ({ stream }) => stream,
    bytesOf: countData,
    limits: { maxItems: RECORDS_MAX, maxBytes: BYTES_MAX },
    maxPayloadBytes: 2 * RECORD_BYTES_MAX,
    onUnknown: options.onUnknown,
    submit: async (batch, context) => send(await caller.open(), batch, context),
    trial: () => trialOf(options),
  });
}

const trialOf = (options: FirehoseSinkOptions): Trial<Handler> => ({
  at: (endpoint) => firehoseSink({ ...options, ...LOCAL_AWS, client: undefined, endpoint }),
  payload: (data) => ({ stream: 'certified', data }),
  wire: () => firehoseWire(RECORDS_MAX, BYTES_MAX),
});

async function send(
  { sdk, client }: { sdk: typeof Sdk; client: Sdk.FirehoseClient },
  { target, tasks }: Batch<FirehoseRecord>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const records = tasks.map(({ payload }) => ({ Data: bytesOfData(payload) }));
  const command = new sdk.PutRecordBatchCommand({ DeliveryStreamName: target, Records: records });
  try {
    const { RequestResponses } = await client.send(command, { abortSignal: signal });
    return { results: placedResults(RequestResponses, tasks.length, ({ RecordId }) => ({ recordId: RecordId })) };
  } catch (thrown) {
    return readRefusal(thrown, ERRORS);
  }
}

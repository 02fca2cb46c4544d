import type * as Sdk from '@aws-sdk/client-dynamodb';
import type { Batch, CallContext, ItemResult, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import type { Trial } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { Handler } from '../../types';
import type { AwsOptions } from '../aws/client';
import { AwsCaller, LOCAL_AWS } from '../aws/client';
import { readRefusal } from '../aws/refusal';
import type { SinkOptions } from '../options';
import { settingsOf } from '../options';
import { dynamodbWire } from './wire';
import type { DynamodbWrite } from './write';
import { keyText, requestOf, writeBytes, writeSchema } from './write';

export type { AwsCredentials, AwsOptions } from '../aws/client';
export type { SinkOptions } from '../options';
export type { DynamodbWrite } from './write';

/** Options of `dynamodbSink`. */
export interface DynamodbSinkOptions extends SinkOptions, AwsOptions<Sdk.DynamoDBClient> {
  /** The attributes of the tables' primary key: the partition key, and the sort key if any. */
  keyAttributes: readonly [string] | readonly [string, string];
}

/**
 * docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html: 25 writes, 16 MB.
 * An item above 400 KB is refused with its call, which is then halved.
 */
const ITEMS_MAX = 25;
const BYTES_MAX = 16_000_000;
/** The table's name, and what stands around the writes. */
const OVERHEAD_BYTES = 400;
const PAYLOAD_BYTES_MAX = 1_048_576;

const ERRORS = {
  later: ['LimitExceededException', 'ProvisionedThroughputExceededException', 'RequestLimitExceeded'],
  halt: ['ResourceNotFoundException'],
  rejected: ['ItemCollectionSizeLimitExceededException'],
};

/**
 * Returns a handler that puts and deletes items with BatchWriteItem, 25 per call. A write names the
 * whole item, so that it may be made again: what is unknown is sent again. Writes of one key keep
 * their order and are never in flight together, which BatchWriteItem would refuse. Needs
 * `@aws-sdk/client-dynamodb`.
 */
export function dynamodbSink(options: DynamodbSinkOptions): Handler<DynamodbWrite> {
  const { keyAttributes } = options;
  const caller = new AwsCaller(
    {
      sink: 'the DynamoDB sink',
      packageName: '@aws-sdk/client-dynamodb',
      load: () => import('@aws-sdk/client-dynamodb'),
      create: (sdk, settings) => new sdk.DynamoDBClient(settings),
    },
    options,
  );
  return defineHandler<DynamodbWrite>({
    description: 'DynamoDB BatchWriteItem',
    ...settingsOf(options),
    schema: writeSchema(keyAttributes),
    target: ({ table }) => table,
    distinctBy: (write) => keyOf(write, keyAttributes),
    bytesOf: writeBytes,
    limits: { maxItems: ITEMS_MAX, maxBytes: BYTES_MAX, overheadBytes: OVERHEAD_BYTES },
    maxPayloadBytes: PAYLOAD_BYTES_MAX,
    idempotency: { by: 'task' },
    submit: async (batch, context) => send(await caller.open(), batch, context, keyAttributes),
    trial: () => trialOf(options),
  });
}

const keyOf = (write: DynamodbWrite, keyAttributes: readonly string[]): string =>
  keyText(requestOf(write), keyAttributes);

const trialOf = (options: DynamodbSinkOptions): Trial<Handler> => ({
  at: (endpoint) => dynamodbSink({ ...options, ...LOCAL_AWS, client: undefined, endpoint }),
  payload: (text) => ({
    table: 'certified',
    put: { ...Object.fromEntries(options.keyAttributes.map((name) => [name, markIn(text)])), text },
  }),
  wire: () => dynamodbWire(options.keyAttributes, ITEMS_MAX, BYTES_MAX),
});

async function send(
  { sdk, client }: { sdk: typeof Sdk; client: Sdk.DynamoDBClient },
  { target, tasks }: Batch<DynamodbWrite>,
  { signal }: CallContext,
  keyAttributes: readonly string[],
): Promise<SubmitAnswer> {
  const requests = tasks.map(({ payload }) => requestOf(payload));
  const command = new sdk.BatchWriteItemCommand({ RequestItems: { [target]: requests } });
  try {
    const { UnprocessedItems } = await client.send(command, { abortSignal: signal });
    return { results: resultsOf(requests, UnprocessedItems, target, keyAttributes) };
  } catch (thrown) {
    return readRefusal(thrown, ERRORS);
  }
}

/**
 * Returns `retry` for what DynamoDB gave back as unprocessed, `ok` for the rest. Throws if it gave
 * back what was not sent, or no answer: then the outcome is unknown.
 */
function resultsOf(
  requests: readonly Sdk.WriteRequest[],
  unprocessed: Record<string, Sdk.WriteRequest[]> | undefined,
  table: string,
  keyAttributes: readonly string[],
): ItemResult[] {
  if (unprocessed === undefined) throw new Error('unreadable answer: expected UnprocessedItems, got nothing');
  const left = new Set((unprocessed[table] ?? []).map((request) => keyText(request, keyAttributes)));
  const results = requests.map((request, index): ItemResult => {
    const isLeft = left.delete(keyText(request, keyAttributes));
    return isLeft
      ? { index, status: 'retry', error: 'unprocessed: DynamoDB asks to send it again' }
      : { index, status: 'ok' };
  });
  const others = Object.keys(unprocessed).filter((name) => name !== table);
  if (left.size > 0 || others.length > 0)
    throw new Error(
      `unreadable answer: expected unprocessed writes of this call, got ${[...left, ...others].join(', ')}`,
    );
  return results;
}

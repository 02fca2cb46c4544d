import type * as Sdk from '@aws-sdk/client-sqs';
import type { Batch, BatchTask, CallContext, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import type { Trial } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { Handler } from '../../types';
import type { AwsOptions } from '../aws/client';
import { AwsCaller, LOCAL_AWS } from '../aws/client';
import { DEDUPLICATION_MS, encodeAttributes, entryResults } from '../aws/entries';
import { readRefusal } from '../aws/refusal';
import { keyOfTask } from '../keys';
import type { SinkOptions, UnknownOptions } from '../options';
import { settingsOf } from '../options';
import type { SqsMessage } from './message';
import { messageBytes, messageSchema } from './message';
import { sqsWire } from './wire';

export type { AwsCredentials, AwsOptions } from '../aws/client';
export type { SinkOptions, UnknownOptions } from '../options';
export type { SqsMessage } from './message';

/** Options of `sqsSink`. */
export interface SqsSinkOptions extends SinkOptions, UnknownOptions, AwsOptions<Sdk.SQSClient> {
  /** FIFO queues: no message twice within 5 minutes, and groups keep their order. Default false. */
  fifo?: boolean;
  /**
   * Most bytes of the messages of a call, and so of a message: the queue's MaximumMessageSize.
   * Default 262,144, which every queue takes; at most 1,048,576.
   */
  maxBytes?: number;
}

/** docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html */
const SQS_ITEMS_MAX = 10;
/** .../SQSDeveloperGuide/sqs-batch-api-actions.html: 1 MiB for all messages of a call. */
const SQS_BYTES_MAX = 1_048_576;
/** What a message could have before, and what queues of that time are still set to. */
const BYTES_DEFAULT = 262_144;

const ERRORS = {
  later: ['KmsThrottled', 'OverLimit'],
  halt: [
    'AWS.SimpleQueueService.NonExistentQueue',
    'InvalidAddress',
    'InvalidSecurity',
    'KmsAccessDenied',
    'KmsDisabled',
    'KmsInvalidKeyUsage',
    'KmsInvalidState',
    'KmsNotFound',
    'KmsOptInRequired',
    'QueueDoesNotExist',
    'UnsupportedOperation',
  ],
};

/**
 * Returns a handler that sends messages with SendMessageBatch, ten per call. Standard queues know
 * no idempotency key: a lost answer is parked, or sent again if `onUnknown` says so. FIFO queues
 * get the SHA-256 of the task's id as MessageDeduplicationId, and are sent to again within the 5
 * minutes for which they remember it. Needs `@aws-sdk/client-sqs`.
 */
export function sqsSink(options: SqsSinkOptions): Handler<SqsMessage> {
  const { fifo = false, maxBytes = BYTES_DEFAULT, onUnknown } = options;
  const caller = new AwsCaller(
    {
      sink: 'the SQS sink',
      packageName: '@aws-sdk/client-sqs',
      load: () => import('@aws-sdk/client-sqs'),
      create: (sdk, settings) =>
        new sdk.SQSClient({ ...settings, useQueueUrlAsEndpoint: options.endpoint === undefined }),
    },
    options,
  );
  return defineHandler<SqsMessage>({
    description: `SQS SendMessageBatch to ${fifo ? 'FIFO' : 'standard'} queues`,
    ...settingsOf(options),
    schema: messageSchema(fifo),
    target: ({ queueUrl }) => queueUrl,
    bytesOf: messageBytes,
    limits: { maxItems: SQS_ITEMS_MAX, maxBytes: Math.min(maxBytes, SQS_BYTES_MAX) },
    maxPayloadBytes: 2 * SQS_BYTES_MAX,
    idempotency: fifo ? { by: 'task', windowMs: DEDUPLICATION_MS } : 'none',
    onUnknown,
    // A group's messages in flight together could be applied in another order after a retry.
    ...(fifo ? { distinctBy: ({ groupId }: SqsMessage) => groupId! } : {}),
    submit: async (batch, context) => send(await caller.open(), batch, context),
    trial: () => trialOf(options),
  });
}

function trialOf(options: SqsSinkOptions): Trial<Handler> {
  const queueUrl = `https://sqs.${LOCAL_AWS.region}.amazonaws.com/1/certified${options.fifo === true ? '.fifo' : ''}`;
  return {
    at: (endpoint) => sqsSink({ ...options, ...LOCAL_AWS, client: undefined, endpoint }),
    payload: (body) => ({ queueUrl, body, ...(options.fifo === true ? { groupId: markIn(body) } : {}) }),
    wire: () => sqsWire(SQS_ITEMS_MAX, SQS_BYTES_MAX),
  };
}

async function send(
  { sdk, client }: { sdk: typeof Sdk; client: Sdk.SQSClient },
  { target, tasks }: Batch<SqsMessage>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const command = new sdk.SendMessageBatchCommand({ QueueUrl: target, Entries: tasks.map(entryOf) });
  try {
    return { results: entryResults(await client.send(command, { abortSignal: signal })) };
  } catch (thrown) {
    return readRefusal(thrown, ERRORS);
  }
}

/** An entry's Id is its place: SQS takes few characters there, and a task's id may be anything. */
const entryOf = ({ id, payload }: BatchTask<SqsMessage>, place: number): Sdk.SendMessageBatchRequestEntry => ({
  Id: String(place),
  MessageBody: payload.body,
  DelaySeconds: payload.delaySeconds,
  MessageAttributes: encodeAttributes(payload.attributes),
  ...(payload.groupId === undefined ? {} : { MessageGroupId: payload.groupId, MessageDeduplicationId: keyOfTask(id) }),
});

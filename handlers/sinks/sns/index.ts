import type * as Sdk from '@aws-sdk/client-sns';
import { z } from 'zod';
import type { Batch, BatchTask, CallContext, SubmitAnswer } from '../../contract';
import { defineHandler } from '../../defineHandler';
import type { Trial } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import type { Handler } from '../../types';
import type { AwsOptions } from '../aws/client';
import { AwsCaller, LOCAL_AWS } from '../aws/client';
import { attributeBytes, DEDUPLICATION_MS, encodeAttributes, entryResults } from '../aws/entries';
import { readRefusal } from '../aws/refusal';
import { keyOfTask } from '../keys';
import type { SinkOptions, UnknownOptions } from '../options';
import { settingsOf } from '../options';
import { snsWire } from './wire';

export type { AwsCredentials, AwsOptions } from '../aws/client';
export type { SinkOptions, UnknownOptions } from '../options';

/** A message for a topic. */
export interface SnsMessage {
  /** The ARN of the topic, which is the target. */
  topicArn: string;
  message: string;
  subject?: string;
  attributes?: Record<string, string>;
  /** FIFO topics: messages of a group keep their order. Required there. */
  groupId?: string;
}

/** Options of `snsSink`. */
export interface SnsSinkOptions extends SinkOptions, UnknownOptions, AwsOptions<Sdk.SNSClient> {
  /** FIFO topics: no message twice within 5 minutes, and groups keep their order. Default false. */
  fifo?: boolean;
}

/**
 * docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html: 10 messages, 262,144 bytes of all of
 * them.
 */
const MESSAGES_MAX = 10;
const BYTES_MAX = 262_144;

const ERRORS = {
  later: ['KMSThrottling', 'KMSThrottlingException'],
  halt: [
    'AuthorizationError',
    'AuthorizationErrorException',
    'KMSAccessDenied',
    'KMSDisabled',
    'KMSInvalidState',
    'KMSNotFound',
    'NotFound',
    'NotFoundException',
  ],
};

const bytesOf = ({ message, subject = '', attributes }: SnsMessage): number =>
  Buffer.byteLength(message) + Buffer.byteLength(subject) + attributeBytes(attributes);

const schemaFor = (isFifo: boolean): z.ZodType<SnsMessage, SnsMessage> =>
  z.strictObject({
    topicArn: z
      .string()
      .max(512)
      .regex(isFifo ? /^arn:[^\s]+\.fifo$/ : /^arn:[^\s]+(?<!\.fifo)$/),
    message: z.string().min(1),
    subject: z.string().min(1).max(100).optional(),
    attributes: z.record(z.string().min(1).max(256), z.string().min(1)).optional(),
    groupId: isFifo ? z.string().regex(/^[\x21-\x7e]{1,128}$/) : z.undefined().optional(),
  });

/**
 * Returns a handler that publishes with PublishBatch, ten messages per call. Standard topics know
 * no idempotency key; FIFO topics get the SHA-256 of the task's id as MessageDeduplicationId. Needs
 * `@aws-sdk/client-sns`.
 */
export function snsSink(options: SnsSinkOptions): Handler<SnsMessage> {
  const { fifo = false, onUnknown } = options;
  const caller = new AwsCaller(
    {
      sink: 'the SNS sink',
      packageName: '@aws-sdk/client-sns',
      load: () => import('@aws-sdk/client-sns'),
      create: (sdk, settings) => new sdk.SNSClient(settings),
    },
    options,
  );
  return defineHandler<SnsMessage>({
    description: `SNS PublishBatch to ${fifo ? 'FIFO' : 'standard'} topics`,
    ...settingsOf(options),
    schema: schemaFor(fifo),
    target: ({ topicArn }) => topicArn,
    bytesOf,
    limits: { maxItems: MESSAGES_MAX, maxBytes: BYTES_MAX },
    maxPayloadBytes: 2 * BYTES_MAX,
    idempotency: fifo ? { by: 'task', windowMs: DEDUPLICATION_MS } : 'none',
    onUnknown,
    ...(fifo ? { distinctBy: ({ groupId }: SnsMessage) => groupId! } : {}),
    submit: async (batch, context) => send(await caller.open(), batch, context),
    trial: () => trialOf(options),
  });
}

function trialOf(options: SnsSinkOptions): Trial<Handler> {
  const topicArn = `arn:aws:sns:${LOCAL_AWS.region}:1:certified${options.fifo === true ? '.fifo' : ''}`;
  return {
    at: (endpoint) => snsSink({ ...options, ...LOCAL_AWS, client: undefined, endpoint }),
    payload: (message) => ({ topicArn, message, ...(options.fifo === true ? { groupId: markIn(message) } : {}) }),
    wire: () => snsWire(MESSAGES_MAX, BYTES_MAX),
  };
}

async function send(
  { sdk, client }: { sdk: typeof Sdk; client: Sdk.SNSClient },
  { target, tasks }: Batch<SnsMessage>,
  { signal }: CallContext,
): Promise<SubmitAnswer> {
  const command = new sdk.PublishBatchCommand({ TopicArn: target, PublishBatchRequestEntries: tasks.map(entryOf) });
  try {
    return { results: entryResults(await client.send(command, { abortSignal: signal })) };
  } catch (thrown) {
    return readRefusal(thrown, ERRORS);
  }
}

const entryOf = ({ id, payload }: BatchTask<SnsMessage>, place: number): Sdk.PublishBatchRequestEntry => ({
  Id: String(place),
  Message: payload.message,
  Subject: payload.subject,
  MessageAttributes: encodeAttributes(payload.attributes),
  ...(payload.groupId === undefined ? {} : { MessageGroupId: payload.groupId, MessageDeduplicationId: keyOfTask(id) }),
});

import { GetQueueUrlCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import {
  defineHandler,
  LaterError,
  type Batch,
  type CallContext,
  type Handler,
  type SubmitAnswer,
} from '../../handlers';
import { entriesOf, outcomes } from './entries';
import { messageBytes, messagePayload, type MessagePayload } from './message';
import { refusal } from './refusal';

export interface SqsOptions {
  region: string;
  /** Of an SQS-compatible server; without it AWS itself, with the SDK's own credentials. */
  endpoint?: string;
  /**
   * What becomes of messages whose answer was lost: a standard queue cannot be asked for them (H3).
   */
  onUnknown: 'park' | 'resend';
}

/**
 * Sends messages to standard SQS queues, ten a call. Standard queues know no idempotency key, so a
 * lost answer is parked for a person, or sent again where a message twice does less harm than a
 * message late.
 */
export function sendMessageHandler(options: SqsOptions): Handler<MessagePayload> {
  const client = createSqsClient(options);
  const queueUrls = new Map<string, string>();
  return defineHandler<MessagePayload>({
    name: 'sqs-send',
    description: 'SQS SendMessageBatch to standard queues',
    schema: messagePayload,
    target: (message) => message.queue,
    bytesOf: messageBytes,
    // 262,144 bytes is what every SQS account takes; SQS counts bodies and attributes, not the
    // envelope around them.
    limits: { maxItems: 10, maxBytes: 262_144, overheadBytes: 0 },
    linger: { lingerMs: 500 },
    timeoutMs: 10_000,
    idempotency: 'none',
    onUnknown: options.onUnknown,
    submit: (batch, context) => sendMessages(client, queueUrls, batch, context),
  });
}

/**
 * The SDK neither retries (that would be a silent resend) nor follows the queue's URL away from the
 * endpoint it was given.
 */
export function createSqsClient(options: Pick<SqsOptions, 'region' | 'endpoint'>): SQSClient {
  return new SQSClient({
    region: options.region,
    maxAttempts: 1,
    ...(options.endpoint === undefined
      ? {}
      : {
          endpoint: options.endpoint,
          useQueueUrlAsEndpoint: false,
          credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
        }),
  });
}

async function sendMessages(
  client: SQSClient,
  queueUrls: Map<string, string>,
  batch: Batch<MessagePayload>,
  context: CallContext,
): Promise<SubmitAnswer> {
  const QueueUrl = queueUrls.get(batch.target) ?? (await lookUpQueue(client, batch.target, context.signal));
  queueUrls.set(batch.target, QueueUrl);
  try {
    const answer = await client.send(new SendMessageBatchCommand({ QueueUrl, Entries: entriesOf(batch.tasks) }), {
      abortSignal: context.signal,
    });
    return { results: outcomes(answer) };
  } catch (error) {
    throw refusal(error) ?? error;
  }
}

/**
 * Nothing has been sent yet, so whatever goes wrong here, but for a refusal, is a reason to wait
 * and never an unknown outcome.
 */
async function lookUpQueue(client: SQSClient, name: string, abortSignal: AbortSignal): Promise<string> {
  try {
    const { QueueUrl } = await client.send(new GetQueueUrlCommand({ QueueName: name }), { abortSignal });
    if (QueueUrl === undefined) {
      throw new LaterError(`queue ${name}: GetQueueUrl answered without a URL`);
    }
    return QueueUrl;
  } catch (error) {
    throw refusal(error) ?? new LaterError(`queue ${name}: ${String(error)}`);
  }
}

import type { ItemResult } from '../../contract';

/** What SQS and SNS answer of the entries of a batch, as far as a sink reads it. */
export interface EntriesAnswer {
  Successful?: { Id?: string; MessageId?: string }[];
  Failed?: { Id?: string; SenderFault?: boolean; Code?: string; Message?: string }[];
}

/**
 * Returns the results of a batch of entries whose ids are their places. A sender's fault is for
 * good (`failed`), any other is the service's and may pass (`retry`). An entry of neither list is
 * left out, so that its outcome is unknown.
 */
export function entryResults({ Successful = [], Failed = [] }: EntriesAnswer): ItemResult[] {
  const sent = Successful.map(({ Id, MessageId }): ItemResult => ({
    index: Number(Id),
    status: 'ok',
    result: { messageId: MessageId },
  }));
  const refused = Failed.map(({ Id, SenderFault, Code, Message }): ItemResult => ({
    index: Number(Id),
    status: SenderFault === true ? 'failed' : 'retry',
    error: `${Code ?? 'no code'}: ${Message ?? 'no message'}`,
  }));
  return [...sent, ...refused];
}

/**
 * How long FIFO queues and topics remember a deduplication id: 5 minutes.
 * docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
 * docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html
 */
export const DEDUPLICATION_MS = 300_000;

/** Text attributes of a message, by name. */
export type Attributes = Readonly<Record<string, string>>;

const TYPE = 'String';

/** Returns text attributes as SQS and SNS take them; undefined: there are none. */
export const encodeAttributes = (
  attributes: Attributes | undefined,
): Record<string, { DataType: string; StringValue: string }> | undefined =>
  attributes &&
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, { DataType: TYPE, StringValue: value }]));

/** Returns the bytes of attributes as SQS and SNS count them: name, type and value of each. */
export const attributeBytes = (attributes: Attributes | undefined): number =>
  Object.entries(attributes ?? {}).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + TYPE.length + Buffer.byteLength(value),
    0,
  );

import { z } from 'zod';
import { attributeBytes } from '../aws/entries';

/**
 * A message may have these characters only; SQS refuses any other with InvalidMessageContents.
 * docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
 */
const BODY = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]+$/u;
/** 15 minutes; .../SQSDeveloperGuide/quotas-messages.html, "Message timer". */
const DELAY_MAX_S = 900;
/** .../SQSDeveloperGuide/quotas-messages.html, "Message attributes". */
const ATTRIBUTES_MAX = 10;

/** A message for a queue. */
export interface SqsMessage {
  /** The URL of the queue, which is the target: only messages of one queue share a call. */
  queueUrl: string;
  body: string;
  /** Seconds until it can be received, up to 900; standard queues only. */
  delaySeconds?: number;
  attributes?: Record<string, string>;
  /** FIFO queues: messages of a group keep their order. Required there. */
  groupId?: string;
}

const attributes = z
  .record(z.string().min(1).max(256), z.string().min(1))
  .refine((all) => Object.keys(all).length <= ATTRIBUTES_MAX, `expected at most ${ATTRIBUTES_MAX} attributes`);

/** Returns the schema of messages for standard or for FIFO queues. */
export const messageSchema = (isFifo: boolean): z.ZodType<SqsMessage, SqsMessage> =>
  z.strictObject({
    queueUrl: isFifo
      ? z.string().max(512).endsWith('.fifo', 'expected the URL of a FIFO queue, which ends with .fifo')
      : z.url().max(512),
    body: z.string().regex(BODY, 'expected text of at least one character that XML allows'),
    delaySeconds: isFifo ? z.undefined().optional() : z.number().int().min(0).max(DELAY_MAX_S).optional(),
    attributes: attributes.optional(),
    groupId: isFifo ? z.string().regex(/^[\x21-\x7e]{1,128}$/) : z.undefined().optional(),
  });

/** Returns the bytes of a message as SQS counts them: the body, and its attributes. */
export const messageBytes = ({ body, attributes: given }: SqsMessage): number =>
  Buffer.byteLength(body) + attributeBytes(given);

import { createHash } from 'node:crypto';
import type { JudgedItem, HttpWire } from '../../trials/trial';
import { markIn } from '../../trials/trial';
import { awsJsonWire } from '../aws/jsonWire';

interface Entry {
  Id: string;
  MessageBody: string;
  MessageDeduplicationId?: string;
}
interface Body {
  Entries: Entry[];
}

/** Returns the wire of SendMessageBatch. */
export const sqsWire = (maxItems: number, maxBytes: number): HttpWire =>
  awsJsonWire<Body>({
    target: 'AmazonSQS.SendMessageBatch',
    version: '1.0',
    maxItems,
    maxBytes,
    verdicts: ['busy', 'refused', 'omitted'],
    shapes: ['reversed', 'twice', 'foreign'],
    errors: {
      throttled: 'RequestThrottled',
      unavailable: 'ServiceUnavailable',
      content: 'BatchRequestTooLong',
      credentials: 'InvalidSecurity',
      absent: 'QueueDoesNotExist',
    },
    items: ({ Entries }) =>
      Entries.map(({ MessageBody, MessageDeduplicationId }) => ({
        mark: markIn(MessageBody),
        key: MessageDeduplicationId,
      })),
    bytes: ({ Entries }) => Entries.reduce((sum, { MessageBody }) => sum + Buffer.byteLength(MessageBody), 0),
    answer: answerOf,
  });

function answerOf(items: readonly JudgedItem[], { Entries }: Body): object {
  const idOf = (place: number): string => Entries[place]?.Id ?? String(place);
  const told = (verdict: JudgedItem['verdict']) => items.filter((item) => item.verdict === verdict);
  const failure = (isSender: boolean) => (item: JudgedItem) => ({
    Id: idOf(item.place),
    SenderFault: isSender,
    Code: isSender ? 'InvalidMessageContents' : 'InternalError',
    Message: 'told so',
  });
  return {
    Successful: told('ok').map(({ place }) => ({
      Id: idOf(place),
      MessageId: `message-${place}`,
      MD5OfMessageBody: createHash('md5')
        .update(Entries[place]?.MessageBody ?? '')
        .digest('hex'),
    })),
    Failed: [...told('refused').map(failure(true)), ...told('busy').map(failure(false))],
  };
}

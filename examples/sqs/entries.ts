import type { SendMessageBatchCommandOutput, SendMessageBatchRequestEntry } from '@aws-sdk/client-sqs';
import type { BatchTask, ItemResult } from '../../handlers';
import type { MessagePayload } from './message';

/**
 * An entry's Id is its place in the batch: SQS takes 80 characters of a-z, 0-9, `-` and `_` there,
 * a task's id may be anything.
 */
export function entriesOf(tasks: readonly BatchTask<MessagePayload>[]): SendMessageBatchRequestEntry[] {
  return tasks.map(({ payload }, index) => ({
    Id: String(index),
    MessageBody: payload.body,
    DelaySeconds: payload.delaySeconds,
    MessageAttributes:
      payload.attributes &&
      Object.fromEntries(
        Object.entries(payload.attributes).map(([name, value]) => [name, { DataType: 'String', StringValue: value }]),
      ),
  }));
}

/**
 * What SQS said of each entry. A sender's fault is for good (`failed`), any other is the service's
 * and may pass (`retry`). An entry in neither list stays out: Muster then holds its task as unknown
 * (H2).
 */
export function outcomes(answer: Pick<SendMessageBatchCommandOutput, 'Successful' | 'Failed'>): ItemResult[] {
  const sent = (answer.Successful ?? []).map((entry): ItemResult => ({
    index: Number(entry.Id),
    status: 'ok',
    result: { messageId: entry.MessageId },
  }));
  const refused = (answer.Failed ?? []).map((entry): ItemResult => ({
    index: Number(entry.Id),
    status: entry.SenderFault === true ? 'failed' : 'retry',
    error: `${entry.Code ?? 'unknown code'}: ${entry.Message ?? 'no message'}`,
  }));
  return [...sent, ...refused];
}

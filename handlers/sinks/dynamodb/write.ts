import type { AttributeValue, WriteRequest } from '@aws-sdk/client-dynamodb';
import { z } from 'zod';
import { attributesOf } from './attribute';

/** One put or delete of an item, as JSON. */
export interface DynamodbWrite {
  /** The name of the table, which is the target. */
  table: string;
  /** The whole item, which replaces the one of the same key. */
  put?: Record<string, unknown>;
  /** The key of the item to delete: the key attributes alone. */
  delete?: Record<string, unknown>;
}

/** Returns the schema of writes to tables whose primary key has these attributes. */
export function writeSchema(keyAttributes: readonly string[]): z.ZodType<DynamodbWrite, DynamodbWrite> {
  const record = z.record(z.string().min(1).max(255), z.unknown());
  return z
    .strictObject({ table: z.string().regex(/^[\w.-]{3,255}$/), put: record.optional(), delete: record.optional() })
    .superRefine((write, context) => {
      const given = [write.put, write.delete].filter((one) => one !== undefined);
      if (given.length !== 1) {
        context.addIssue({ code: 'custom', message: `expected put or delete, got ${given.length} of them` });
        return;
      }
      const lacking = keyAttributes.find((name) => !['string', 'number'].includes(typeof given[0]![name]));
      if (lacking !== undefined)
        context.addIssue({ code: 'custom', message: `expected text or a number in the key attribute ${lacking}` });
    });
}

export const requestOf = (write: DynamodbWrite): WriteRequest =>
  write.put === undefined
    ? { DeleteRequest: { Key: attributesOf(write.delete!) } }
    : { PutRequest: { Item: attributesOf(write.put) } };

/** Returns the bytes of a write as it is sent, with the comma behind it. */
export const writeBytes = (write: DynamodbWrite): number => Buffer.byteLength(JSON.stringify(requestOf(write))) + 1;

/**
 * Returns the primary key that a request writes, as text that is equal for equal keys. A number may
 * come back written otherwise than it was sent.
 */
export function keyText(request: WriteRequest, keyAttributes: readonly string[]): string {
  const item = request.PutRequest?.Item ?? request.DeleteRequest?.Key ?? {};
  return JSON.stringify(keyAttributes.map((name) => plain(item[name])));
}

const plain = (value: AttributeValue | undefined): string =>
  value?.N === undefined ? `S${value?.S ?? ''}` : `N${Number(value.N)}`;

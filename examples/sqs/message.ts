import { z } from 'zod';

export const messagePayload = z.object({
  queue: z.string().regex(/^[A-Za-z0-9_-]{1,80}$/, 'expected the name of a standard queue'),
  body: z.string().min(1),
  /**
   * No upper limit here on purpose: above 900 SQS refuses the one entry, which is what the example
   * shows.
   */
  delaySeconds: z.number().int().min(0).optional(),
  attributes: z.record(z.string().min(1), z.string().min(1)).optional(),
});
export type MessagePayload = z.infer<typeof messagePayload>;

/** As SQS counts a message: its body, and of each attribute its name, type and value. */
export function messageBytes(message: MessagePayload): number {
  const attributes = Object.entries(message.attributes ?? {});
  return attributes.reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + 'String'.length + Buffer.byteLength(value),
    Buffer.byteLength(message.body),
  );
}

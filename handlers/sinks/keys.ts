import { createHash } from 'node:crypto';

/**
 * Returns the idempotency key of a task for downstreams that limit the characters or the length of
 * a key: 64 hexadecimal characters, the SHA-256 of the task's id. Ids may be anything.
 */
export const keyOfTask = (id: string): string => createHash('sha256').update(id).digest('hex');

import { createdUs } from '../created';
import { INSTALLATION } from '../installation';

const keyOf = (batch: string): string =>
  `'muster-' || ${INSTALLATION} || '-' || ${batch}.id || '-' || ${createdUs(batch)}`;

/**
 * The idempotency key of a batch `b`, or of the one it was split from, under which the downstream
 * may know its tasks. That one exists: retention deletes a part before the batch it was split from.
 */
export const KEY_OF_BATCH = `
  case when b.sent_as is null then ${keyOf('b')} else (select ${keyOf('k')} from batch k where k.id = b.sent_as) end`;

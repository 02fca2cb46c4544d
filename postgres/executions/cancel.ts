import { closeChunk, giveBackItems, openChunks } from './chunk';
import { withRetries } from '../errors';
import { cancelExecution } from './execution';
import type { Pool } from '../pool';

/**
 * Cancels an execution and takes back what its nodes hold of it. Returns its state before; null:
 * there is none.
 */
export const cancelWithChunks = async (pool: Pool, executionId: string): Promise<number | null> => {
  const before = await withRetries(() => cancelExecution(pool, executionId));
  if (before === null) return null;
  for (const chunk of await openChunks(pool, executionId)) {
    await closeChunk(pool, chunk.id, 'cancelled');
    while ((await withRetries(() => giveBackItems(pool, chunk.id))).left > 0);
  }
  return before;
};

import type { ClientContext } from '../../../../client/context';
import type { CancelledBatch } from '../../../../client/lanes/cancelBatch';
import { cancelBatch } from '../../../../client/lanes/cancelBatch';
import type { Pool } from '../../../../postgres/pool';

/** Cancels a lane batch of a simulated store, as the client does. */
export const cancelInLane = (pool: Pool, batch: number): Promise<CancelledBatch> => {
  const nothing = (): Promise<void> => Promise.resolve();
  // What a cancel uses of a client where no recipient waits for the end.
  const client = { pool, ready: nothing, ringLaneIds: nothing, releaseDependents: nothing };
  return cancelBatch(client as unknown as ClientContext, batch);
};

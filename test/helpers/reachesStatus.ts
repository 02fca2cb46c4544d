import type { Client } from '../../client';
import { eventually } from './eventually';

/** Waits until the batch has this status in its lane. */
export const reachesStatus = (client: Client, batch: number, status: string): Promise<unknown> =>
  eventually(async () => (await client.batchStatus(batch))?.status === status, {
    what: async () => `${status} of batch ${batch}: ${JSON.stringify(await client.batchStatus(batch))}`,
  });

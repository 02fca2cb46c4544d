import { readTime } from '../../../postgres/time';
import type { Client } from '../../client';

/** Returns the time this long ago, by the database's clock. */
export const timeAgo = async (client: Client, ms: number): Promise<Date> => {
  await client.ready();
  return new Date(Date.parse(await readTime(client.pool)) - ms);
};

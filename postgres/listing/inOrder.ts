import type { Client, Pool } from '../pool';
import { inTransaction } from '../pool';

const BEGIN = `begin read only; set local enable_sort = off; set local enable_bitmapscan = off;
  set local enable_hashjoin = off; set local enable_mergejoin = off`;

/**
 * Runs a read of a page in the order of its indexes, whatever the statistics say: a plan for a
 * table that was empty would read and sort all of it.
 */
export const inOrder = <T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> =>
  inTransaction(pool, work, BEGIN);

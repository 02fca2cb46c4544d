import { IS_READ } from '../accepted/poll';
import type { Queryable } from '../pool';
import { LATE } from './attended';

/** Most batches looked at: the next entries of the index by `poll_at`. */
const MOST_READS = 10_000;

/**
 * Accepted batches whose results are being read, and have brought none for a minute. The read is
 * given up after the handler's `poll.idleMs`, and a slow downstream is no fault of the product: so
 * these are named, but `verify` does not count them, and no worker is unhealthy for them.
 */
export const STALLED_READS = `
select h.name as handler, b.id as batch, b.read_at as since
from (
  select b.id, b.target_id, b.read_at
  from batch b
  where b.reference is not null and b.state = 1 /* open */ and ${IS_READ}
  order by b.poll_at limit ${MOST_READS}) b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where b.read_at < ${LATE}`;

export interface StalledRead {
  handler: string;
  batch: number;
  ms: number;
}

/** Returns the reads that have stalled, the longest first. */
export const readStalledReads = async (db: Queryable, limit: number): Promise<StalledRead[]> => {
  const { rows } = await db.query<StalledRead>({
    name: 'read-stalled-reads',
    text: `
select x.handler, x.batch, (extract(epoch from clock() - x.since) * 1000)::float8 as ms
from (${STALLED_READS}) x
order by x.since limit $1`,
    values: [limit],
  });
  return rows;
};

import { IS_READ } from '../accepted/poll';
import type { Queryable } from '../pool';
import { LATE } from './attended';

/**
 * Accepted batches whose results are being read, and have brought none for a minute. The read is
 * given up after the handler's `poll.idleMs`, and a slow downstream is no fault of the product: so
 * these are named, but `verify` does not count them, and no worker is unhealthy for them. Only
 * batches whose results are being read have a `read_at`: the index by it has few entries, however
 * many batches a downstream has.
 */
export const STALLED_READS = `
select h.name as handler, b.id as batch, b.read_at as since
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where b.read_at < ${LATE} and b.reference is not null and b.state = 1 /* open */ and ${IS_READ}`;

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

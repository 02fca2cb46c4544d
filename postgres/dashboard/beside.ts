import { UNDELIVERED_COUNTS } from '../callbacks/undelivered';
import type { Queryable } from '../pool';

export interface BesideRow {
  executionsWithoutNodes: number;
  retriedCallbacks: number;
  lostCallbacks: number;
}

/** Counts what belongs to no handler and needs attention. */
export const readBeside = async (db: Queryable): Promise<BesideRow> => {
  const { rows } = await db.query<BesideRow>({
    name: 'read-beside',
    text: `
select u.retrying as "retriedCallbacks", u."given-up" as "lostCallbacks", (
    select count(*)::float8
    from execution
    where state in (0 /* created */, 1 /* in progress */) and wants_nodes) as "executionsWithoutNodes"
from (${UNDELIVERED_COUNTS}) u`,
  });
  return rows[0]!;
};

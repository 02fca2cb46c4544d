import type { Queryable } from '../pool';

export interface MinuteRow {
  handler: string;
  minute: Date;
  calls: number;
  /** In the order of `ENDS`. */
  ends: number[];
}

/**
 * Returns what calls and ends came to in each of the minutes that end at a time: one row per
 * handler and minute, without the histograms of lists.
 */
export const readEndsByMinute = async (db: Queryable, at: string, minutes: number): Promise<MinuteRow[]> => {
  const { rows } = await db.query<MinuteRow>({
    name: 'read-ends-by-minute',
    text: `
select h.name as handler, m.minute, (select coalesce(sum(n), 0)::float8 from unnest(m.calls) n) as calls, m.ends
from outcome_minute m join handler h on h.id = m.handler_id
where m.minute > date_trunc('minute', $1::timestamptz) - $2 * interval '1 minute' and m.minute <= $1::timestamptz
order by m.handler_id`,
    values: [at, minutes],
  });
  return rows;
};

import type { Queryable } from '../pool';

/** When a minute began, its calls, and its ends in the order of `ENDS`. */
export type MinuteOfHandler = [beganS: number, calls: number, ends: number[]];

export interface HandlerMinutes {
  handler: string;
  minutes: MinuteOfHandler[];
}

/**
 * Returns what calls and ends came to in each of the minutes that end at a time: one row per
 * handler, without the histograms of lists.
 */
export const readEndsByMinute = async (db: Queryable, at: string, minutes: number): Promise<HandlerMinutes[]> => {
  const { rows } = await db.query<HandlerMinutes>({
    name: 'read-ends-by-minute',
    text: `
select h.name as handler,
  json_agg(json_build_array(
    extract(epoch from m.minute)::bigint,
    (select coalesce(sum(n), 0) from unnest(m.calls) n),
    m.ends)) as minutes
from outcome_minute m join handler h on h.id = m.handler_id
where m.minute > date_trunc('minute', $1::timestamptz) - $2 * interval '1 minute' and m.minute <= $1::timestamptz
group by h.id, h.name
order by h.id`,
    values: [at, minutes],
  });
  return rows;
};

import type { Queryable } from './pool';

/** Returns the database's time, in UTC, as ISO text to the microsecond. */
export const readTime = async (db: Queryable): Promise<string> => {
  const { rows } = await db.query<{ at: string }>({
    name: 'read-time',
    text: `select to_char(clock() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at`,
  });
  return rows[0]!.at;
};

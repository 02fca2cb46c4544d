import { skewOf } from '../workflows/planning/clockSkew';
import type { Queryable } from './pool';

/** Returns by how many ms this process's clock differs from the store's, at least. */
export const readClockSkew = async (db: Queryable): Promise<number> => {
  const begunMs = Date.now();
  const { rows } = await db.query<{ ms: number }>({
    name: 'read-clock-skew',
    text: 'select (extract(epoch from clock()) * 1000)::float8 as ms',
  });
  return skewOf(rows[0]!.ms, begunMs, Date.now());
};

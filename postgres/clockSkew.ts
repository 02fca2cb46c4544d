import { skewOf } from '../workflows/planning/clockSkew';
import type { Queryable } from './pool';

/** The store's clock, and by how many ms this process's differs from it, at least. */
export interface Clocks {
  /** ISO text, to the millisecond. */
  at: string;
  skewMs: number;
}

export const readClocks = async (db: Queryable): Promise<Clocks> => {
  const begunMs = Date.now();
  const { rows } = await db.query<{ ms: number }>({
    name: 'read-clocks',
    text: 'select (extract(epoch from clock()) * 1000)::float8 as ms',
  });
  const { ms } = rows[0]!;
  return { at: new Date(ms).toISOString(), skewMs: skewOf(ms, begunMs, Date.now()) };
};

import type { Queryable } from '../pool';

/** What there is now: a bulk action looks at nothing that comes later. */
export interface StoreBounds {
  lastSeq: number;
  lastBatchId: number;
  startUs: number;
}

export const readBounds = async (db: Queryable): Promise<StoreBounds> => {
  const { rows } = await db.query<StoreBounds>({
    name: 'read-bounds',
    text: `
select coalesce((select max(seq) from task), 0) as "lastSeq",
  coalesce((select max(id) from batch), 0) as "lastBatchId",
  (extract(epoch from clock()) * 1000000)::bigint as "startUs"`,
  });
  return rows[0]!;
};

/** Returns the largest weight that a call of the handler may have; null: there is no limit. */
export const readHeaviest = async (db: Queryable, handlerId: number): Promise<number | null> => {
  const { rows } = await db.query<{ most: number | null }>({
    name: 'read-heaviest',
    text: 'select least(max_weight, weight_per_target, weight_per_handler) as most from handler where id = $1',
    values: [handlerId],
  });
  return rows[0]!.most;
};

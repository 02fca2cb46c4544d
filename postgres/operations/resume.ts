import type { Queryable } from '../pool';

/**
 * Returns the targets of a handler (or the one named) with anything that waits: a resume rings
 * them.
 */
export const findTargetsWithWork = async (db: Queryable, handler: string, key: string | null): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'find-targets-with-work',
    text: `
select t.id
from target t join handler h on h.id = t.handler_id
where h.name = $1 and ($2::text is null or t.key = $2) and (exists (select from queue q where q.target_id = t.id)
  or exists (select from delayed d where d.target_id = t.id)
  or exists (select from batch b where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch is null))`,
    values: [handler, key],
  });
  return rows.map((row) => row.id);
};

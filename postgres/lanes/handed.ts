import type { Queryable } from '../pool';

/** A batch on which another one of its handler depends. */
export interface HandedDependency {
  batch: number;
  /** The downstream's name for it; null: it accepted none. */
  reference: string | null;
  status: number;
}

/**
 * Notes that the downstream is given the dependencies of a batch that is about to be sent, and
 * returns them: those on batches of the same handler. A batch that was split is represented by its
 * parts.
 */
export const handDependencies = async (db: Queryable, batchId: number): Promise<HandedDependency[]> => {
  const { rows } = await db.query<HandedDependency>({
    name: 'hand-dependencies',
    text: `
update dependency d set handed = true
from lane_batch s, lane_batch n, batch b
where d.batch_id = $1 and s.batch_id = $1 and n.batch_id = d.needs and n.handler_id = s.handler_id and b.id = d.needs
returning d.needs as batch, b.reference, n.status`,
    values: [batchId],
  });
  return rows.sort((a, b) => a.batch - b.batch);
};

import type { Queryable } from './pool';

/** A worker process as people ask for it. */
export interface NodeViewRow {
  id: string;
  version: string;
  handlers: string[];
  batch: boolean;
  functions: string[];
  attributes: Record<string, string>;
  draining: boolean;
  startedAt: Date;
  seenMsAgo: number;
}

const MOST = 10_000;

export const readNodes = async (db: Queryable): Promise<NodeViewRow[]> => {
  const { rows } = await db.query<NodeViewRow>({
    name: 'read-nodes',
    text: `
select id, version, handlers, batch, functions, attributes, draining, started_at as "startedAt",
  (extract(epoch from clock() - seen_at) * 1000)::float8 as "seenMsAgo" from node order by id limit $1`,
    values: [MOST],
  });
  return rows;
};

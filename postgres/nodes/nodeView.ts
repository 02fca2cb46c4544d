import type { Queryable } from '../pool';

/**
 * Statements that show nodes to operators. Which node holds a partition and which one makes its
 * calls are two facts, read separately.
 */

export interface NodeViewRow {
  id: string;
  name: string | null;
  handlers: string[];
  attributes: Record<string, string>;
  batch: boolean;
  functions: string[];
  topics: string[];
  hangsMs: number;
  version: string;
  seenMs: number;
  startedAt: Date;
  draining: boolean;
  drained: boolean;
  partitions: number;
  load: number;
  inFlight: number;
  processing: number;
}

/**
 * Returns all nodes that the store knows, those with the latest sign of life first; load: batches
 * whose last call the node made, ended within `overMs`.
 */
export const readNodeViews = async (db: Queryable, overMs: number): Promise<NodeViewRow[]> => {
  const { rows } = await db.query<NodeViewRow>({
    name: 'read-node-views',
    text: `
with held as (
  select holder as id, count(*)::int as n
  from lease
  where resource like 'partition/%' and holder is not null and expires_at > clock()
  group by 1),
ended as (
  select attempt_by as id, count(*)::int as n
  from batch
  where finished_at > clock() - $1 * interval '1 ms'
  group by 1),
calls as (
  select b.attempt_by as id, count(*)::int as n, count(distinct coalesce(a.partition, p.resource))::int as partitions
  from batch b join target t on t.id = b.target_id left join lane a on a.id = t.lane_id
    left join leader l on l.id = b.leader_id left join partition p on p.handler_id = l.handler_id
      and p.no::text = l.name
  where b.state = 1 /* open */ and b.attempt_until > clock()
  group by 1)
select n.id, n.name, n.handlers, n.attributes, n.batch, n.functions, n.topics,
  (extract(epoch from n.seen_at - coalesce(n.answered_at, n.seen_at)) * 1000)::float8 as "hangsMs", n.version,
  (extract(epoch from clock() - n.seen_at) * 1000)::float8 as "seenMs", n.started_at as "startedAt", n.draining,
  n.drained, coalesce(h.n, 0) as partitions, coalesce(e.n, 0) as load, coalesce(c.n, 0) as "inFlight",
  coalesce(c.partitions, 0) as processing
from node n left join held h on h.id = n.id left join ended e on e.id = n.id left join calls c on c.id = n.id
order by n.name nulls last, n.started_at, n.id`,
    values: [overMs],
  });
  return rows;
};

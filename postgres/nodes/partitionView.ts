import type { ServedFacts } from '../../workflows/planning/explain/served';
import type { Queryable } from '../pool';

/** Statements that show partitions to operators. */

/** `holder`: as the lease names it, also after the lease passed. */
export interface PartitionViewRow extends Omit<ServedFacts, 'partition' | 'needs' | 'able'> {
  id: string;
  no: number;
  movedAt: Date | null;
  reason: string | null;
  checkpoint: unknown;
  checkpointAt: Date | null;
  checkpointEpoch: number | null;
}

const ms = (time: string): string => `(extract(epoch from ${time}) * 1000)::float8`;
const PARTITION = `
select p.resource as id, h.name as handler, p.no, l.holder, n.name as "holderName", l.epoch,
  ${ms('clock() - l.acquired_at')} as "heldMs", ${ms('l.expires_at - clock()')} as "leftMs",
  ${ms('clock() - l.revoked_at')} as "revokedMs", l.wanted_by as "wantedBy", w.name as "wantedByName",
    l.kept_for as "keptFor", ${ms('l.kept_until - clock()')} as "keptLeftMs",
  p.pinned_to as "pinnedTo", l.moved_at as "movedAt", l.reason,
  p.checkpoint, p.checkpoint_at as "checkpointAt", p.checkpoint_epoch as "checkpointEpoch"
from partition p join lease l on l.resource = p.resource join handler h on h.id = p.handler_id
  left join node n on n.id = l.holder left join node w on w.id = l.wanted_by`;

/** Returns partitions by handler and number; of one handler, or of all. */
export const readPartitionViews = async (db: Queryable, handlerId: number | null): Promise<PartitionViewRow[]> => {
  const { rows } = await db.query<PartitionViewRow>({
    name: 'read-partition-views',
    text: `${PARTITION} where $1::int is null or p.handler_id = $1 order by h.name, p.no`,
    values: [handlerId],
  });
  return rows;
};

/**
 * Returns the nodes that may be making calls of each partition's tasks right now, by the calls'
 * deadlines, whichever node holds it.
 */
export const readProcessing = async (
  db: Queryable,
): Promise<{ id: string; node: string; name: string | null; calls: number }[]> => {
  const { rows } = await db.query<{ id: string; node: string; name: string | null; calls: number }>({
    name: 'read-processing',
    text: `
select coalesce(a.partition, p.resource) as id, b.attempt_by as node, n.name, count(*)::int as calls
from batch b join target t on t.id = b.target_id left join lane a on a.id = t.lane_id
  left join leader l on l.id = b.leader_id
left join partition p on p.handler_id = l.handler_id and p.no::text = l.name left join node n on n.id = b.attempt_by
where b.state = 1 /* open */ and b.attempt_until > clock() and (a.partition is not null
  or p.resource is not null) group by 1, 2, 3 order by 1, 2`,
  });
  return rows;
};

/** Returns what a node must have to serve this partition; null: there is none of this id. */
export const findPartition = async (
  db: Queryable,
  id: string,
): Promise<{ handler: string; needs: Record<string, string> } | null> => {
  const { rows } = await db.query<{ handler: string; needs: Record<string, string> }>({
    name: 'find-partition',
    text: `
select h.name as handler, h.needs
from partition p join handler h on h.id = p.handler_id
where p.resource = $1`,
    values: [id],
  });
  return rows[0] ?? null;
};

/**
 * Returns the highest number of partitions that handlers have had; those without affinity are
 * missing.
 */
export const countPartitions = async (
  db: Queryable,
  handlerId: number | null,
): Promise<Map<number, { n: number; held: number }>> => {
  const { rows } = await db.query<{ handlerId: number; n: number; held: number }>({
    name: 'count-partitions',
    text: `
select p.handler_id as "handlerId", count(*)::int as n,
  count(*) filter (where l.holder is not null and l.expires_at > clock())::int as held
from partition p join lease l on l.resource = p.resource
where $1::int is null or p.handler_id = $1
group by 1`,
    values: [handlerId],
  });
  return new Map(rows.map((row) => [row.handlerId, { n: row.n, held: row.held }]));
};

export interface ServedRow extends PartitionViewRow {
  needs: Record<string, string>;
  /**
   * Live nodes that may have it: they have the handler and the attributes, and are not draining.
   */
  able: number;
}

/**
 * Returns the partition that a task belongs to: its lane's, or its leader's. Null: its handler has
 * no affinity.
 */
export const readServedOf = async (db: Queryable, taskId: string, nodeLiveMs: number): Promise<ServedRow | null> => {
  const { rows } = await db.query<ServedRow>({
    name: 'read-served-of',
    text: `
select v.*, h.needs,
  (select count(*)::int
   from node n
   where n.seen_at > clock() - $2 * interval '1 ms' and not n.draining and not n.drained and h.name = any(n.handlers)
     and n.attributes @> h.needs) as able
from task k join target t on t.id = k.target_id join handler h on h.id = t.handler_id
  left join lane a on a.id = t.lane_id join leader d on d.id = t.leader_id
  join partition s on s.resource = coalesce(a.partition,
    (select x.resource from partition x where x.handler_id = h.id and x.no::text = d.name and t.lane_id is null))
  join lateral (${PARTITION} where p.resource = s.resource) v on true
where k.id = $1`,
    values: [taskId, nodeLiveMs],
  });
  return rows[0] ?? null;
};

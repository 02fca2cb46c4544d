import { DEFAULT_MAX_LOSSES, LOST_BEFORE } from '../../workflows/planning/executions/attempts';
import type { Queryable } from '../pool';

/**
 * Statements about chunks: the items given to one node in one round, and their lease. A chunk is
 * `ready` until its node takes it, and open until it is done or closed; closing it fences the node
 * out. Locks are taken in the order chunk, items, execution.
 */

export interface TakenChunk {
  executionId: string;
  functionId: string;
  method: string;
  config: Record<string, unknown>;
  epoch: number;
  n: number;
  /** Number of chunks in the same round: they share a rate. */
  siblings: number;
}

/**
 * Takes a chunk for its node: only once, and only while its execution is running. Null: refused.
 */
export const takeChunk = async (
  db: Queryable,
  chunkId: string,
  nodeId: string,
  leaseMs: number,
): Promise<TakenChunk | null> => {
  const { rows } = await db.query<TakenChunk>({
    name: 'take-chunk',
    text: `
update chunk c set state = 1 /* taken */, started_at = clock(), expires_at = clock() + $3 * interval '1 ms'
  from execution e
where c.id = $1 and c.node_id = $2 and c.state = 0 /* ready */ and e.id = c.execution_id
  and e.state in (0 /* created */, 1 /* in progress */)
returning e.id as "executionId", e.function_id as "functionId", e.method, e.config, c.epoch, c.n,
  (select count(*)::int from chunk s where s.execution_id = c.execution_id and s.round = c.round) as siblings`,
    values: [chunkId, nodeId, leaseMs],
  });
  return rows[0] ?? null;
};

/**
 * Renews the node's lease of the chunk by `leaseMs`. False: the chunk was closed or is done. An
 * expired lease that has had no consequences yet is kept.
 */
export const renewChunk = async (
  db: Queryable,
  chunkId: string,
  nodeId: string,
  epoch: number,
  leaseMs: number,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'renew-chunk',
    text: `update chunk set expires_at = clock() + $4 * interval '1 ms' where id = $1 and node_id = $2
      and epoch = $3 and state = 1 /* taken */`,
    values: [chunkId, nodeId, epoch, leaseMs],
  });
  return rowCount === 1;
};

/**
 * Writes how far the items of a chunk may have come, before they begin: `position`, and of an item
 * that was lost before that plus `LOST_BEFORE`. False: it is not this node's any more.
 */
export const reachChunk = async (
  db: Queryable,
  chunk: { id: string; nodeId: string; epoch: number },
  position: number,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'reach-chunk',
    text: `update chunk set reached = $4 where id = $1 and node_id = $2 and epoch = $3 and state = 1 /* taken */`,
    values: [chunk.id, chunk.nodeId, chunk.epoch, position],
  });
  return rowCount === 1;
};

/** A run takes a turn within this after items came back; the sweeper wakes it otherwise. */
export const GOES_ON_MS = 5_000;

export const CLOSE_REASONS = ['undelivered', 'expired', 'returned', 'cancelled'] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/**
 * Closes a chunk, so that its results count no more; its items are given back next
 * (`giveBackItems`). `undelivered`: only while its node has not taken it. `expired`: only past its
 * lease. `returned`: by its node, which has stopped running it. `cancelled`: with its execution.
 * False: the condition did not hold.
 */
export const closeChunk = async (
  db: Queryable,
  chunkId: string,
  reason: CloseReason,
  nodeId: string | null = null,
): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'close-chunk',
    text: `
update chunk c set state = -1 /* closed */, reason = $2, finished_at = clock(), expires_at = null
from execution e
where c.id = $1 and e.id = c.execution_id and case $2 when 'undelivered' then c.state = 0 /* ready */
    when 'expired' then c.state = 1 /* taken */ and c.expires_at <= clock()
    when 'returned' then c.state = 1 /* taken */ and c.node_id = $3
    when 'cancelled' then c.state in (0 /* ready */, 1 /* taken */, 2 /* filling */) and e.state = -3 /* cancelled */
    else false end`,
    values: [chunkId, reason, nodeId],
  });
  return rowCount === 1;
};

/** The item's result, of a run that was lost. */
const LOST_TEXT = `'its node died, or lost its chunk, while it ran: ' || (i.losses + 1) || ' times in a row'`;
/** Nothing of the execution is left to do. */
const ENDS = `(x.state in (0 /* created */, 1 /* in progress */) and x.n_done + x.n_dead + n.dead = x.items)`;

/** What `giveBackItems` did, and how many items are left for the next call. */
export interface GivenBack {
  left: number;
  /** Items whose loss counted an attempt, by what became of them. */
  failed: number;
  dead: number;
}

/**
 * Puts items of a closed chunk that its node did not process back to created, without counting an
 * attempt: at most 10,000 per call. Where the lease has passed, the items that may have begun were
 * lost with their node. The first loss of an item counts nothing, the next ones in a row count an
 * attempt each, and the one that makes `maxLosses`, which is at least 2, is the last. A run that
 * does not go on by itself is woken soon: it may have ended.
 */
export const giveBackItems = async (
  db: Queryable,
  chunkId: string,
  maxLosses: number = DEFAULT_MAX_LOSSES,
): Promise<GivenBack> => {
  const { rows } = await db.query<GivenBack>({
    name: 'give-back-items',
    text: `
with c as (
  select k.id, k.execution_id, k.n_open, k.reached, k.reason, e.attempts_limit
  from chunk k join execution e on e.id = k.execution_id
  where k.id = $1 and k.state = -1 /* closed */ and k.n_open > 0 for update of k),
part as (
  select w.ctid as at, coalesce(c.reason = 'expired'
    and w.position + case when w.losses > 0 then ${LOST_BEFORE}::bigint else 0 end <= c.reached, false) as lost
  from c join work_item w on w.chunk_id = c.id
  where w.state = 1 /* in progress */
  order by w.position limit 10000),
judged as (
  select p.at, p.lost, p.lost and i.losses > 0 as counts
  from part p join work_item i on i.ctid = p.at),
w as (
  update work_item i set losses = i.losses + j.lost::int, attempts = i.attempts + j.counts::int,
    state = case when not j.counts then 0 /* created */ when i.losses + 1 >= $2
      or i.attempts + 1 >= c.attempts_limit then -2 /* permanently failed */ else -1 /* failed */ end,
    chunk_id = case when j.counts then i.chunk_id end,
    exit_code = case when not j.counts then i.exit_code end, stdout = case when j.counts then '' else i.stdout end,
    stderr = case when j.counts then ${LOST_TEXT} else i.stderr end,
    usage = case when not j.counts then i.usage end, metadata = case when not j.counts then i.metadata end
  from judged j, c
  where i.ctid = j.at and i.state = 1 /* in progress */
  returning i.state),
n as (
  select count(*)::int as n, (count(*) filter (where state = 0 /* created */))::int as created,
    (count(*) filter (where state = -1 /* failed */))::int as failed,
    (count(*) filter (where state = -2 /* permanently failed */))::int as dead
  from w),
d as (update chunk u set n_open = u.n_open - n.n from n, c where u.id = c.id),
e as (
  update execution x set n_created = n_created + n.created, n_running = n_running - n.n,
    n_failed = n_failed + n.failed, n_dead = n_dead + n.dead,
    state = case when ${ENDS} then 100 /* done */ else x.state end,
    finished_at = case when ${ENDS} then clock() else x.finished_at end,
    wants_nodes = x.wants_nodes and not ${ENDS}, note = case when not ${ENDS} then x.note end,
    resume_at = case when x.resume_at is not null and not ${ENDS}
      then least(x.resume_at, clock() + interval '${GOES_ON_MS} ms') end
  from n, c
  where x.id = c.execution_id)
select c.n_open - n.n as left, n.failed, n.dead
from c, n`,
    values: [chunkId, maxLosses],
  });
  return rows[0] ?? { left: 0, failed: 0, dead: 0 };
};

export interface OpenChunk {
  id: string;
  node: string;
  state: number;
  n: number;
  open: number;
  expired: boolean;
  expiresInMs: number | null;
}

/**
 * Returns chunks that are not done and hold items, or hold nothing yet. Closed ones among them have
 * items to give back.
 */
export const openChunks = async (db: Queryable, executionId: string): Promise<OpenChunk[]> => {
  const { rows } = await db.query<OpenChunk>({
    name: 'open-chunks',
    text: `
select id, node_id as node, state, n, n_open as open, coalesce(expires_at <= clock(), false) as expired,
  (extract(epoch from expires_at - clock()) * 1000)::float8 as "expiresInMs"
from chunk
where execution_id = $1 and (state in (0 /* ready */, 1 /* taken */, 2 /* filling */) or n_open > 0)
order by round, place`,
    values: [executionId],
  });
  return rows;
};

/** Returns executions with a chunk past its lease, the longest past first. */
export const readExpiredExecutions = async (db: Queryable, limit: number): Promise<string[]> => {
  const { rows } = await db.query<{ id: string }>({
    name: 'read-expired-executions',
    text: `
select execution_id as id
from chunk
where state = 1 /* taken */ and expires_at < clock()
group by execution_id
order by min(expires_at) limit $1`,
    values: [limit],
  });
  return rows.map(({ id }) => id);
};

export interface ChunkRow {
  id: string;
  node: string;
  round: number;
  state: number;
  n: number;
  open: number;
  reason: string | null;
}

/** Returns the chunks of an execution, newest round first. */
export const listChunks = async (db: Queryable, executionId: string, limit: number): Promise<ChunkRow[]> => {
  const { rows } = await db.query<ChunkRow>({
    name: 'list-chunks',
    text: `
select id, node_id as node, round, state, n, n_open as open, reason
from chunk
where execution_id = $1
order by round desc, place limit $2`,
    values: [executionId, limit],
  });
  return rows;
};

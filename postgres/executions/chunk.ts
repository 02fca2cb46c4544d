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

/**
 * Puts items of a closed chunk that its node did not process back to created, without counting an
 * attempt: at most 10,000 per call. Returns how many are left. A run that does not go on by itself
 * is woken soon: it may have ended.
 */
export const giveBackItems = async (db: Queryable, chunkId: string): Promise<number> => {
  const { rows } = await db.query<{ left: number }>({
    name: 'give-back-items',
    text: `
with c as (
  select id, execution_id, n_open
  from chunk
  where id = $1 and state = -1 /* closed */ and n_open > 0 for update),
part as (
  select w.ctid as at
  from c join work_item w on w.chunk_id = c.id
  where w.state = 1 /* in progress */
  order by w.position limit 10000),
w as (
  update work_item i set state = 0 /* created */, chunk_id = null
  from part p
  where i.ctid = p.at and i.state = 1 /* in progress */
  returning i.position),
n as (select count(*)::int as n from w),
d as (update chunk u set n_open = u.n_open - n.n from n, c where u.id = c.id),
e as (
  update execution x set n_created = n_created + n.n, n_running = n_running - n.n,
    resume_at = case when x.resume_at is not null then least(x.resume_at, clock() + interval '${GOES_ON_MS} ms') end
  from n, c
  where x.id = c.execution_id)
select c.n_open - n.n as left
from c, n`,
    values: [chunkId],
  });
  return rows[0]?.left ?? 0;
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

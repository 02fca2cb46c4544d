import { GOES_ON_MS } from './chunk';
import type { ItemMetadata, ItemUsage } from '../../workflows/planning/executions/usage';
import type { Queryable } from '../pool';

export interface GivenItem {
  position: number;
  arguments: string[];
}

/**
 * Returns the unfinished items of a chunk after position `after`, by position: those that were lost
 * with a node before, or the others.
 */
export const readGivenItems = async (
  db: Queryable,
  chunkId: string,
  lostBefore: boolean,
  after: number,
  limit: number,
): Promise<GivenItem[]> => {
  const { rows } = await db.query<GivenItem>({
    name: 'read-given-items',
    text: `
select position, arguments
from work_item
where chunk_id = $1 and position > $2 and state = 1 /* in progress */ and (losses > 0) = $4
order by position limit $3`,
    values: [chunkId, after, limit, lostBefore],
  });
  return rows;
};

/** The outcome of one item; `ok`: done, otherwise a failed attempt. */
export interface ItemResult {
  position: number;
  ok: boolean;
  exitCode: number | null;
  stdout: string;
  stderr: string;
  /** Null: it is not known, as for a run that hangs with its process. */
  usage: ItemUsage | null;
  metadata: ItemMetadata | null;
}

export interface Recorded {
  /** Results that counted. Fewer than given: the rest were refused, and changed nothing. */
  accepted: number;
  /** Accepted results by kind: done, failed, and permanently failed. */
  done: number;
  failed: number;
  dead: number;
  /** The chunk is still open for its node. */
  open: boolean;
  /** State of the execution after the write, and how many items a new round would take. */
  state: number;
  pending: number;
}

/** An execution with nothing running goes on soon: its run may have ended. */
const RESUME_AT = `case when e.n_done + e.n_dead + n.done + n.dead = e.items then null
      when e.resume_at is not null and e.n_running = n.n then least(e.resume_at, clock() + interval '${GOES_ON_MS} ms')
      else e.resume_at end`;

/**
 * Writes results: only from the chunk's node, only for items of that chunk that are in progress.
 * Anything else, such as a repeat, a late result of a closed chunk, or a foreign item, changes
 * nothing and counts no attempt. The write that leaves nothing to do completes the execution in the
 * same statement. At the attempts limit a failed item becomes permanently failed.
 *
 * Items are looked up one by one by their key and written by their place on disk: a plan made while
 * the table was small would read the whole chunk for each (2.2 s per write instead of 20 ms).
 * Meanwhile the lock on the chunk keeps out every other writer of its items.
 */
export const recordResults = async (
  db: Queryable,
  chunk: { id: string; nodeId: string; epoch: number },
  results: readonly ItemResult[],
): Promise<Recorded | null> => {
  const { rows } = await db.query<Recorded>({
    name: 'record-results',
    text: `
with c as (
  select id, execution_id, n_open
  from chunk
  where id = $1 and node_id = $2 and epoch = $3 and state = 1 /* taken */ for update),
t as (
  select i.ctid as at, r.ok, r.exit_code, r.stdout, r.stderr, r.usage, r.metadata
  from c cross join unnest(
    $4::int[], $5::bool[], $6::int[], $7::text[], $8::text[], $9::text[], $10::text[])
    r (position, ok, exit_code, stdout, stderr, usage, metadata)
    cross join lateral (
      select w.ctid, w.state, w.chunk_id
      from work_item w
      where w.execution_id = c.execution_id and w.position = r.position offset 0) i
  where i.chunk_id = c.id and i.state = 1 /* in progress */),
w as (
  update work_item i set attempts = i.attempts + 1, exit_code = t.exit_code, stdout = t.stdout, stderr = t.stderr,
    usage = t.usage::json, metadata = t.metadata::json, losses = 0, state = case when t.ok then 100 /* done */
      when i.attempts + 1 >= e.attempts_limit then -2 /* permanently failed */ else -1 /* failed */ end
  from t, c, execution e
  where e.id = c.execution_id and i.ctid = t.at and i.chunk_id = c.id and i.state = 1 /* in progress */
  returning i.state),
n as (
  select count(*)::int as n, (count(*) filter (where state = 100 /* done */))::int as done,
    (count(*) filter (where state = -1 /* failed */))::int as failed,
    (count(*) filter (where state = -2 /* permanently failed */))::int as dead
  from w),
d as (
  update chunk u set n_open = u.n_open - n.n, state = case when u.n_open = n.n then 100 /* done */ else u.state end,
    finished_at = case when u.n_open = n.n then clock() end
  from n, c
  where u.id = c.id and n.n > 0
  returning u.state),
x as (
  update execution e set n_running = e.n_running - n.n, n_done = e.n_done + n.done, n_failed = e.n_failed + n.failed,
    n_dead = e.n_dead + n.dead,
    state = case when e.state in (0 /* created */, 1 /* in progress */)
      and e.n_done + e.n_dead + n.done + n.dead = e.items then 100 /* done */ else e.state end,
    finished_at = case when e.state in (0 /* created */, 1 /* in progress */)
      and e.n_done + e.n_dead + n.done + n.dead = e.items then clock() else e.finished_at end,
    wants_nodes = e.wants_nodes and e.n_done + e.n_dead + n.done + n.dead < e.items,
    note = case when e.n_done + e.n_dead + n.done + n.dead < e.items then e.note end,
    resume_at = ${RESUME_AT}
  from n, c
  where e.id = c.execution_id
  returning e.state, e.n_created + e.n_failed as pending)
select n.n as accepted, n.done, n.failed, n.dead, coalesce((select d.state from d), 1) = 1 as open, x.state, x.pending
from n, x`,
    values: [
      chunk.id,
      chunk.nodeId,
      chunk.epoch,
      results.map(({ position }) => position),
      results.map(({ ok }) => ok),
      results.map(({ exitCode }) => exitCode),
      results.map(({ stdout }) => stdout),
      results.map(({ stderr }) => stderr),
      results.map(({ usage }) => jsonOf(usage)),
      results.map(({ metadata }) => jsonOf(metadata)),
    ],
  });
  return rows[0] ?? null;
};

const jsonOf = (value: object | null): string | null => (value === null ? null : JSON.stringify(value));

export interface ItemRow {
  position: number;
  state: number;
  attempts: number;
  contentId: string;
  copy: number;
  chunkId: string;
  node: string;
  exitCode: number | null;
  arguments: string[];
  stdout: string | null;
  stderr: string | null;
  usage: ItemUsage | null;
  metadata: ItemMetadata | null;
}

/** How much of a list is read at once. */
export interface PageSize {
  limit: number;
  /** The page ends with the row whose texts reach so many bytes; null: only `limit` ends it. */
  maxBytes?: number | null | undefined;
}

export interface Page<T> {
  rows: T[];
  /** It was ended by `maxBytes`, before `limit` or the end of the list. */
  isCut: boolean;
}

/** How many rows within the limit come after this one. */
interface Following {
  following: number;
}

const pageOf = <T extends object>(rows: readonly (T & Following)[]): Page<Omit<T & Following, 'following'>> => ({
  rows: rows.map(({ following: _, ...row }) => row),
  isCut: (rows.at(-1)?.following ?? 0) > 0,
});

/**
 * Returns items that have a result, chunk by chunk in the order of the rounds: a page after (round,
 * place, position). For the result document.
 */
export const readChunkResults = async (
  db: Queryable,
  chunkId: string,
  after: number,
  { limit, maxBytes = null }: PageSize,
): Promise<Page<ItemRow>> => {
  const { rows } = await db.query<ItemRow & Following>({
    name: 'read-chunk-results',
    text: `
select w.position, w.state, w.attempts, replace(w.content_id::text, '-', '') as "contentId", w.copy,
  w.chunk_id as "chunkId", c.node_id as node, w.exit_code as "exitCode", w.arguments, w.stdout, w.stderr,
  w.usage, w.metadata, w.following::int
from (
  select i.*, sum(case when $4::bigint is null then 0 else octet_length(i.arguments::text)
      + coalesce(octet_length(i.stdout) + octet_length(i.stderr), 0) end)
    over (order by i.position rows between unbounded preceding and 1 preceding) as before,
    count(*) over (order by i.position rows between 1 following and unbounded following) as following
  from (
    select *
    from work_item
    where chunk_id = $1 and position > $2
      and state in (100 /* done */, -1 /* failed */, -2 /* permanently failed */)
    order by position limit $3) i) w join chunk c on c.id = w.chunk_id
where $4::bigint is null or coalesce(w.before, 0) < $4
order by w.position`,
    values: [chunkId, after, limit, maxBytes],
  });
  return pageOf(rows);
};

/** Returns items by position, whatever their state. */
export const readItems = async (
  db: Queryable,
  executionId: string,
  after: number,
  { limit, maxBytes = null }: PageSize,
): Promise<Page<Omit<ItemRow, 'node'>>> => {
  const { rows } = await db.query<Omit<ItemRow, 'node'> & Following>({
    name: 'read-items',
    text: `
select position, state, attempts, replace(content_id::text, '-', '') as "contentId", copy, chunk_id as "chunkId",
  exit_code as "exitCode", arguments, stdout, stderr, usage, metadata,
  following::int
from (
  select i.*, sum(case when $4::bigint is null then 0 else octet_length(i.arguments::text)
      + coalesce(octet_length(i.stdout) + octet_length(i.stderr), 0) end)
    over (order by i.position rows between unbounded preceding and 1 preceding) as before,
    count(*) over (order by i.position rows between 1 following and unbounded following) as following
  from (
    select *
    from work_item
    where execution_id = $1 and position > $2
    order by position limit $3) i) w
where $4::bigint is null or coalesce(before, 0) < $4
order by position`,
    values: [executionId, after, limit, maxBytes],
  });
  return pageOf(rows);
};

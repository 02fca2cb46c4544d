import { isAllowedName } from '../api/allowedNames';
import { READ_AT } from '../accepted/poll';
import type { LaneFacts, OpenFacts } from './grant';
import { openBatches } from './grant';
import type { Queryable } from '../pool';

/** Statements that show lanes to operators: depth, age and place of every queue. */

export interface LaneRowView extends LaneFacts {
  paused: boolean;
  pauseReason: string | null;
  haltedBy: number | null;
  haltReason: string | null;
  granted: number;
  held: boolean;
  callsAllowed: number | null;
  partition: string | null;
  depth: number;
  queued: number;
  oldestMs: number | null;
}

const LANE = `
select l.id, l.service, substr(l.partition, 11) as partition, l.kind, l.approach, l.on_invalid as "onInvalid",
  l.pending_limit as "pendingLimit", s.weight, s.deficit, s.served, s.pending, s.saturated,
  (extract(epoch from s.hold_until - clock()) * 1000)::float8 as "holdInMs", s.paused_at is not null as paused,
  s.pause_reason as "pauseReason", s.halted_by as "haltedBy", s.halt_reason as "haltReason", s.granted,
  s.blocked_by is not null as held,
  (select least(t.allowed, h.allowed)
   from lane_batch o join target t on t.id = o.target_id join handler h on h.id = o.handler_id
   where o.lane_id = l.id and o.status < 10 /* open */
   order by o.seq limit 1) as "callsAllowed",
  (select count(*)::int from lane_batch o where o.lane_id = l.id and o.status < 10 /* open */) as depth,
  (select count(*)::int from lane_queue q where q.lane_id = l.id) as queued,
  (extract(epoch from clock() - w.since) * 1000)::float8 as "oldestMs"
from lane l join lane_state s on s.lane_id = l.id
cross join lateral (select least((select k.created_at
     from lane_batch o join batch k on k.id = o.batch_id
     where o.lane_id = l.id and o.status < 10 /* open */
     order by o.seq limit 1),
    (select q.ready_at
     from lane_queue q
     where q.lane_id = l.id
     order by q.seq limit 1)) as since) w`;

interface LanesPage {
  after: string | null;
  limit: number;
  /** Only those that have work. */
  waiting: boolean;
  /** Only those whose oldest work is that old. */
  olderThanMs: number | null;
  /** Only those whose service begins with it. */
  prefix: string;
  /** Only those of these handlers: their names, or beginnings with a `*`; null: of all. */
  handlers: readonly string[] | null;
}

/** Returns a page of lanes by service. */
export const readLanes = async (db: Queryable, page: LanesPage): Promise<LaneRowView[]> => {
  const { rows } = await db.query<LaneRowView>({
    name: 'read-lanes',
    text: `${LANE}
where ($1::text is null or l.service > $1) and (not $3::bool or w.since is not null)
  and ($4::float8 is null or w.since <= clock() - $4 * interval '1 ms') and starts_with(l.service, $5)
  and ($6::text[] is null or exists (
    select from handler o
    where o.id = l.handler_id and ${isAllowedName('o.name', '$6')}))
order by l.service limit $2`,
    values: [page.after, page.limit, page.waiting, page.olderThanMs, page.prefix, page.handlers],
  });
  return rows;
};

export const readLane = async (db: Queryable, service: string): Promise<LaneRowView | null> => {
  const { rows } = await db.query<LaneRowView>({
    name: 'read-lane',
    text: `${LANE} where l.service = $1`,
    values: [service],
  });
  return rows[0] ?? null;
};

/** Returns the grants of all lanes, to compute shares. */
export const sumGranted = async (db: Queryable): Promise<number> => {
  const { rows } = await db.query<{ n: number }>({
    name: 'sum-granted',
    text: 'select coalesce(sum(granted), 0)::bigint as n from lane_state',
  });
  return rows[0]!.n;
};

export interface LaneBatchRow {
  batchId: number;
  service: string;
  handler: string;
  target: string;
  status: number;
  /** 1: the head of the lane; null: it has ended. */
  place: number | null;
  seq: number;
  attempts: number;
  n: number;
  error: string | null;
  needs: number[];
  parts: number[];
  notBefore: Date | null;
  createdAt: Date;
  changedAt: Date;
  ageMs: number;
  reference: string | null;
  /** Ms until it is polled again, and until it is given up. */
  pollInMs: number | null;
  pollEndsInMs: number | null;
  /** Ms since the read of its results last got on. */
  readAgoMs: number | null;
  targetAllowed: number | null;
  handlerAllowed: number | null;
}

const LANE_BATCH = `
select s.batch_id as "batchId", l.service, h.name as handler, t.key as target, s.status, s.seq, b.attempt as attempts,
  b.n, b.error, b.reference, t.allowed as "targetAllowed", h.allowed as "handlerAllowed",
  (extract(epoch from b.poll_at - clock()) * 1000)::float8 as "pollInMs",
  (extract(epoch from b.poll_until - clock()) * 1000)::float8 as "pollEndsInMs",
  (extract(epoch from clock() - ${READ_AT}) * 1000)::float8 as "readAgoMs",
  case when s.status < 10 /* open */ then (
    select count(*)::int
    from lane_batch o
    where o.lane_id = s.lane_id and o.status < 10 /* open */ and o.seq <= s.seq) end as place,
  array(select d.needs from dependency d where d.batch_id = s.batch_id order by 1) as needs,
  array(select p.id from batch p where p.parent_id = s.batch_id order by 1) as parts, s.not_before as "notBefore",
  b.created_at as "createdAt", s.changed_at as "changedAt",
  (extract(epoch from clock() - s.changed_at) * 1000)::float8 as "ageMs"
from lane_batch s join batch b on b.id = s.batch_id join lane l on l.id = s.lane_id
  join target t on t.id = s.target_id join handler h on h.id = s.handler_id`;

export const readLaneBatch = async (db: Queryable, batchId: number): Promise<LaneBatchRow | null> => {
  const { rows } = await db.query<LaneBatchRow>({
    name: 'read-lane-batch',
    text: `${LANE_BATCH} where s.batch_id = $1`,
    values: [batchId],
  });
  return rows[0] ?? null;
};

/** Returns the first open batches of a lane. */
export const readOpenLaneBatches = async (db: Queryable, laneId: number, limit: number): Promise<LaneBatchRow[]> => {
  const { rows } = await db.query<LaneBatchRow>({
    name: 'read-open-lane-batches',
    text: `${LANE_BATCH} where s.lane_id = $1 and s.status < 10 /* open */ order by s.seq limit $2`,
    values: [laneId, limit],
  });
  return rows;
};

/** Returns the first open batches of each lane as a grant reads them, without their state keys. */
export const readOpenFacts = async (
  db: Queryable,
  laneIds: readonly number[],
  windows: readonly number[],
): Promise<OpenFacts[]> => {
  const { rows } = await db.query<OpenFacts>({
    name: 'read-open-facts',
    text: openBatches(''),
    values: [laneIds, windows],
  });
  return rows;
};

/** What a key takes in memory besides its text. */
const BYTES_PER_KEY = 32;

export interface StateKeysRow {
  batchId: number;
  reads: string[];
  writes: string[];
}

/**
 * Returns the state keys of batches, in each lane from the front on: of the first of them, and of
 * others until the keys have `maxBytes` in memory.
 */
export const readStateKeys = async (
  db: Queryable,
  batchIds: readonly number[],
  maxBytes: number,
): Promise<StateKeysRow[]> => {
  const { rows } = await db.query<StateKeysRow>({
    name: 'read-state-keys',
    text: `
select k.batch_id as "batchId", k.reads, k.writes
from (
  select s.batch_id, s.reads, s.writes, sum(octet_length(s.reads::text) + octet_length(s.writes::text)
    + ${BYTES_PER_KEY} * (cardinality(s.reads) + cardinality(s.writes)))
    over (partition by s.lane_id order by s.seq rows between unbounded preceding and 1 preceding) as before
  from lane_batch s
  where s.batch_id = any($1::bigint[])) k
where coalesce(k.before, 0) < $2`,
    values: [batchIds, maxBytes],
  });
  return rows;
};

export interface QueuerRowView {
  id: number;
  state: number;
  epoch: number;
  slots: number;
  taken: number;
  strategy: number;
  depth: number;
  grants: number;
  round: number;
  paused: boolean;
  pauseReason: string | null;
  lanes: number;
  ready: number;
  halted: number;
  pausedLanes: number;
  held: number;
  reduced: { handler: string; calls: number; of: number }[];
  expiresInMs: number | null;
}

export const readQueuers = async (db: Queryable): Promise<QueuerRowView[]> => {
  const { rows } = await db.query<QueuerRowView>({
    name: 'read-queuers',
    text: `
select q.id, q.state, q.epoch, q.slots,
  coalesce((select sum(m.slots) from submitter m where m.queuer_id = q.id), 0)::int as taken, q.strategy, q.depth,
  q.grants, q.round, q.paused_at is not null as paused, q.pause_reason as "pauseReason",
  count(s.lane_id)::int as lanes,
  count(*) filter (where s.ready and s.paused_at is null and s.halted_by is null)::int as ready,
  count(s.halted_by)::int as halted, count(s.paused_at)::int as "pausedLanes", count(s.blocked_by)::int as held,
  coalesce((select json_agg(
       json_build_object('handler', h.name, 'calls', h.allowed, 'of', least(h.per_handler, q.slots)) order by h.name)
     from handler h
     where h.allowed is not null and exists (select from lane l where l.handler_id = h.id and l.queuer_id = q.id)),
    '[]') as reduced, (extract(epoch from q.expires_at - clock()) * 1000)::float8 as "expiresInMs"
from queuer q left join lane_state s on s.queuer_id = q.id
group by q.id
order by q.id`,
  });
  return rows;
};

/** Returns the lane batch that a task is in, if any; for `explain`. */
export const findLaneBatchOf = async (db: Queryable, taskId: string): Promise<number | null> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'find-lane-batch-of',
    text: `
select s.batch_id as id
from task k join member m on m.seq = k.seq join lane_batch s on s.batch_id = m.batch_id
where k.id = $1`,
    values: [taskId],
  });
  return rows[0]?.id ?? null;
};

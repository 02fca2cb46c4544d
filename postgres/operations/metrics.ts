import type { Client } from '../pool';

/**
 * What a scrape of the metrics shows, all of it per handler: labels stay few, however many targets
 * and tasks there are.
 */

export interface HandlerGauges {
  handler: string;
  queued: number;
  delayed: number;
  /** Waiting for tasks that they depend on. */
  held: number;
  /** Age of the first of them, in seconds since it was submitted; 0: none is held. */
  oldestHeldSeconds: number;
  /** Age of the oldest queued task, in seconds; 0: nothing waits. */
  oldestSeconds: number;
  /** Batches in a call, and batches that a downstream has accepted and not finished. */
  inFlight: number;
  accepted: number;
  unknown: number;
  dead: number;
  paused: boolean;
  pausedTargets: number;
  /** Most tasks that may wait (`maxQueued.perHandler`); null: any number. */
  mostQueued: number | null;
}

export const readHandlerGauges = async (client: Client): Promise<HandlerGauges[]> => {
  const { rows } = await client.query<HandlerGauges>({
    name: 'read-handler-gauges',
    text: `
with waiting as (
  select t.handler_id, count(*) as n, min(q.ready_at) as oldest
  from (select target_id, ready_at from queue union all select target_id, ready_at from lane_queue) q
    join target t on t.id = q.target_id
  group by 1),
later as (select t.handler_id, count(*) as n from delayed d join target t on t.id = d.target_id group by 1),
kept as (
  select t.handler_id, count(*) as n, min(x.seq) as first
  from held x join target t on t.id = x.target_id
  group by 1),
open as (
  select t.handler_id, count(*) filter (where b.attempt_until is not null) as calls,
    count(*) filter (where b.reference is not null) as accepted
  from batch b join target t on t.id = b.target_id
  where b.state = 1 /* open */
  group by 1),
bad as (
  select t.handler_id, sum(b.n - b.n_left) filter (where b.state = 3 /* unknown */) as unknown,
    sum(b.n - b.n_left) filter (where b.state = 6 /* dead */) as dead
  from batch b join target t on t.id = b.target_id
  where b.state in (3 /* unknown */, 5 /* failed */, 6 /* dead */)
  group by 1),
ended as (
  select t.handler_id, count(*) as dead
  from outcome o join target t on t.id = o.target_id
  where o.state = 6 /* dead */
  group by 1)
select h.name as handler, coalesce(w.n, 0)::float8 as queued, coalesce(l.n, 0)::float8 as delayed,
  coalesce(k.n, 0)::float8 as held,
  coalesce(greatest(0, extract(epoch from clock() - f.created_at)), 0)::float8 as "oldestHeldSeconds",
  coalesce(greatest(0, extract(epoch from clock() - w.oldest)), 0)::float8 as "oldestSeconds",
  coalesce(o.calls, 0)::float8 as "inFlight", coalesce(o.accepted, 0)::float8 as accepted,
  coalesce(b.unknown, 0)::float8 as unknown, (coalesce(b.dead, 0) + coalesce(e.dead, 0))::float8 as dead,
  h.paused_at is not null as paused, (
    select count(*)::float8
    from target t
    where t.handler_id = h.id and t.paused) as "pausedTargets", h.queued_per_handler as "mostQueued"
from handler h left join waiting w on w.handler_id = h.id left join later l on l.handler_id = h.id
  left join kept k on k.handler_id = h.id left join task f on f.seq = k.first
  left join open o on o.handler_id = h.id left join bad b on b.handler_id = h.id
  left join ended e on e.handler_id = h.id`,
  });
  return rows;
};

export const readLeaderCounts = async (client: Client): Promise<{ handler: string; state: number; n: number }[]> => {
  const { rows } = await client.query<{ handler: string; state: number; n: number }>({
    name: 'read-leader-counts',
    text: `
select h.name as handler, l.state, count(*)::float8 as n
from leader l join handler h on h.id = l.handler_id
group by 1, 2`,
  });
  return rows;
};

/**
 * Returns the number of live worker processes per handler; a handler that none serves is missing.
 */
export const readNodeCounts = async (client: Client, withinMs: number): Promise<{ handler: string; n: number }[]> => {
  const { rows } = await client.query<{ handler: string; n: number }>({
    name: 'read-node-counts',
    text: `
select h.name as handler, count(n.id)::float8 as n
from handler h left join node n on h.name = any(n.handlers) and not n.draining
    and n.seen_at > clock() - $1 * interval '1 ms'
group by 1`,
    values: [withinMs],
  });
  return rows;
};

/** Returns the id of the newest batch, where counting begins. */
export const readLastBatch = async (client: Client): Promise<number> => {
  const { rows } = await client.query<{ id: number }>({
    name: 'read-last-batch',
    text: 'select coalesce((select id from batch order by id desc limit 1), 0) as id',
  });
  return rows[0]!.id;
};

/**
 * Counts batches formed with an id in (after, upTo], by flush reason; halves and splits included
 * under theirs.
 */
export const countReasons = async (
  client: Client,
  after: number,
  upTo: number,
): Promise<{ handler: string; reason: number; n: number }[]> => {
  const { rows } = await client.query<{ handler: string; reason: number; n: number }>({
    name: 'count-flush-reasons',
    text: `
select h.name as handler, b.reason, count(*)::float8 as n
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
where b.id > $1 and b.id <= $2
group by 1, 2`,
    values: [after, upTo],
  });
  return rows;
};

/** All lanes together: a label per service would be too many. */
export interface LaneGauges {
  lanes: number;
  ready: number;
  halted: number;
  paused: number;
  /** Batches that have not ended, and how many of them are in flight. */
  open: number;
  inFlight: number;
  oldestSeconds: number;
  slots: number;
  taken: number;
  grants: number;
}

export const readLaneGauges = async (client: Client): Promise<LaneGauges> => {
  const { rows } = await client.query<LaneGauges>({
    name: 'read-lane-gauges',
    text: `
select count(*)::float8 as lanes,
  count(*) filter (where s.ready and s.paused_at is null and s.halted_by is null)::float8 as ready,
  count(s.halted_by)::float8 as halted,
  count(*) filter (where s.paused_at is not null or u.paused_at is not null)::float8 as paused,
  coalesce(sum(s.pending), 0)::float8 as "inFlight",
  (select count(*)::float8 from lane_batch where status < 10 /* open */) as open, coalesce(
    (select extract(epoch from clock() - min(b.created_at))
     from lane_batch o join batch b on b.id = o.batch_id
     where o.status < 10 /* open */), 0)::float8 as "oldestSeconds", (select sum(slots)::float8 from queuer) as slots,
  coalesce((select sum(slots) from submitter), 0)::float8 as taken, (select sum(grants)::float8 from queuer) as grants
from lane_state s join queuer u on u.id = s.queuer_id`,
  });
  return rows[0]!;
};

/** Executions that have not ended, and the items of those that were accepted, by name of state. */
export interface ExecutionGauges {
  executions: Record<'staging' | 'created' | 'in-progress', number>;
  items: Record<'created' | 'in-progress' | 'done' | 'failed' | 'permanently-failed', number>;
  waiting: number;
}

export const readExecutionGauges = async (client: Client): Promise<ExecutionGauges> => {
  const { rows } = await client.query<ExecutionGauges>({
    name: 'read-execution-gauges',
    text: `
select json_build_object(
  'staging', (select count(*) from execution where state = 2 /* staging */), 'created',
  count(*) filter (where state = 0 /* created */), 'in-progress',
  count(*) filter (where state = 1 /* in progress */)) as executions,
  json_build_object(
    'created', coalesce(sum(n_created), 0), 'in-progress', coalesce(sum(n_running), 0), 'done',
    coalesce(sum(n_done), 0), 'failed', coalesce(sum(n_failed), 0), 'permanently-failed',
    coalesce(sum(n_dead), 0)) as items, (count(*) filter (where wants_nodes))::float8 as waiting
from execution
where state in (0 /* created */, 1 /* in progress */)`,
  });
  return rows[0]!;
};

/**
 * Partitions of handlers with affinity: how many per state, and how often one was given to a node
 * so far.
 */
export interface PartitionGauges {
  handler: string;
  held: number;
  revoked: number;
  free: number;
  moves: number;
}

export const readPartitionGauges = async (client: Client): Promise<PartitionGauges[]> => {
  const { rows } = await client.query<PartitionGauges>({
    name: 'read-partition-gauges',
    text: `
select h.name as handler, count(*) filter (where x.live and l.revoked_at is null)::float8 as held,
  count(*) filter (where x.live and l.revoked_at is not null)::float8 as revoked,
  count(*) filter (where not x.live)::float8 as free, sum(l.epoch)::float8 as moves
from partition p join lease l on l.resource = p.resource join handler h on h.id = p.handler_id
cross join lateral (select l.holder is not null and l.expires_at > clock() as live) x group by 1`,
  });
  return rows;
};

import type { LaneRules } from '../../handlers/types';
import { ROUND } from '../../workflows/planning/lanes/strategies';
import { APPROACHES, LANE_KINDS, ON_INVALID } from '../../workflows/planning/lanes/types';
import type { Client, Queryable } from '../pool';

/**
 * Statements about lanes as submits use them: registered, bound to targets, locked while work is
 * accepted.
 */

export interface LaneRow {
  id: number;
  service: string;
  queuerId: number;
}

/**
 * Registers services, then the targets that feed them; in separate commits before anything is
 * submitted to them. The first handler that uses a service sets its lane's rules, and may change
 * them (`changeRules`); those of another handler are ignored.
 */
export const registerLanes = async (
  db: Queryable,
  handlerId: number,
  services: readonly string[],
  rules: LaneRules,
  /** Partition of each service, where the handler has affinity; null: any node serves it. */
  partitions: readonly string[] | null,
): Promise<LaneRow[]> => {
  await db.query({
    name: 'register-lanes',
    text: `
insert into lane (service, handler_id, kind, approach, on_invalid, pending_limit)
select s, $2, $3, $4, $5, $6
from unnest($1::text[]) s
order by s
on conflict (service) do nothing`,
    values: [services, handlerId, ...numbersOf(rules)],
  });
  await db.query({
    name: 'register-lane-states',
    text: `
insert into lane_state (lane_id, queuer_id, served)
select l.id, l.queuer_id, q.round + ${ROUND}
from lane l join queuer q on q.id = l.queuer_id
where l.service = any($1::text[])
order by l.id
on conflict do nothing`,
    values: [services],
  });
  if (partitions !== null)
    await db.query({
      name: 'bind-partitions',
      text: `
update lane l set partition = u.partition
from unnest($1::text[], $2::text[]) u (service, partition)
where l.service = u.service and l.handler_id = $3 and l.partition is null`,
      values: [services, partitions, handlerId],
    });
  return findLanes(db, services);
};

const numbersOf = (rules: LaneRules): (number | null)[] => [
  LANE_KINDS[rules.kind],
  APPROACHES[rules.approach],
  ON_INVALID[rules.onInvalid],
  rules.pendingLimit ?? null,
];

/**
 * A lane of this handler whose rules differ from the given ones: how many of its batches are in
 * flight, and whether more than its pending limit changes.
 */
export interface ChangedLane {
  id: number;
  service: string;
  pending: number;
  ordersOtherwise: boolean;
}
export const findChangedLanes = async (
  db: Queryable,
  handlerId: number,
  services: readonly string[],
  rules: LaneRules,
): Promise<ChangedLane[]> => {
  const { rows } = await db.query<ChangedLane>({
    name: 'find-changed-lanes',
    text: `
select l.id, l.service, s.pending,
  (l.kind, l.approach, l.on_invalid) <> ($3::smallint, $4::smallint, $5::smallint) as "ordersOtherwise"
from lane l join lane_state s on s.lane_id = l.id
where l.service = any($1::text[]) and l.handler_id = $2 and (
  l.kind, l.approach, l.on_invalid,
  l.pending_limit) is distinct from ($3::smallint, $4::smallint, $5::smallint, $6::int)
order by l.id`,
    values: [services, handlerId, ...numbersOf(rules)],
  });
  return rows;
};

/**
 * Changes the rules of lanes and marks them ready. Call it after `lockLaneStates`, under which no
 * grant is made and nothing ends, and after checking what is in flight.
 */
export const changeRules = async (client: Client, laneIds: readonly number[], rules: LaneRules): Promise<void> => {
  await client.query({
    name: 'change-rules',
    text: `update lane set kind = $2, approach = $3, on_invalid = $4, pending_limit = $5 where id = any($1::int[])`,
    values: [laneIds, ...numbersOf(rules)],
  });
  await client.query({
    name: 'look-by-new-rules',
    text: 'update lane_state set ready = true where lane_id = any($1::int[])',
    values: [laneIds],
  });
};

export const findLanes = async (db: Queryable, services: readonly string[]): Promise<LaneRow[]> => {
  const { rows } = await db.query<LaneRow>({
    name: 'find-lanes',
    text: 'select id, service, queuer_id as "queuerId" from lane where service = any($1::text[])',
    values: [services],
  });
  return rows;
};

/**
 * Binds targets that feed no lane yet and have no work outside of one, which the lane could
 * overtake; returns the lane that each target now feeds permanently: its batches can reach no other
 * service.
 */
export const bindTargets = async (
  db: Queryable,
  targetIds: readonly number[],
  laneIds: readonly number[],
): Promise<Map<number, number>> => {
  await db.query({
    name: 'bind-targets',
    text: `
update target t set lane_id = b.lane_id
from unnest($1::int[], $2::int[]) b (target_id, lane_id)
where t.id = b.target_id and t.lane_id is null and not exists (select from queue q where q.target_id = t.id)
  and not exists (select from delayed d where d.target_id = t.id)
  and not exists (select from batch o where o.target_id = t.id and o.state in (1 /* open */, 3 /* unknown */))`,
    values: [targetIds, laneIds],
  });
  return findLanesOfTargets(db, targetIds);
};

/** Returns those of the targets that feed a lane, with the lane. */
export const findLanesOfTargets = async (db: Queryable, targetIds: readonly number[]): Promise<Map<number, number>> => {
  const { rows } = await db.query<{ id: number; laneId: number }>({
    name: 'find-lanes-of-targets',
    text: 'select id, lane_id as "laneId" from target where id = any($1::int[]) and lane_id is not null',
    values: [targetIds],
  });
  return new Map(rows.map(({ id, laneId }) => [id, laneId]));
};

/**
 * Locks lanes, in id order, until the caller's commit. Sequences are drawn under this lock, so that
 * a number drawn later is committed later.
 */
export const lockLanes = async (client: Queryable, laneIds: readonly number[]): Promise<void> => {
  await client.query({
    name: 'lock-lanes',
    text: 'select from lane where id = any($1::int[]) order by id for no key update',
    values: [laneIds],
  });
};

/** Locks the state rows of some lanes, in id order, to change several of them. */
export const lockLaneStates = async (client: Client, laneIds: readonly number[]): Promise<void> => {
  await client.query({
    name: 'lock-lane-states',
    text: 'select from lane_state where lane_id = any($1::int[]) order by lane_id for no key update',
    values: [laneIds],
  });
};

/** Marks the lanes of partitions that this node holds now as ready; returns their queuers. */
export const markServedLanes = async (db: Queryable, partitions: readonly string[]): Promise<number[]> => {
  const { rows } = await db.query<{ queuerId: number }>({
    name: 'mark-served-lanes',
    text: `
update lane_state s set ready = true
from (
  select s.lane_id
  from lane_state s join lane l on l.id = s.lane_id
  where l.partition = any($1::text[]) and (s.due_at is not null
    or exists (select from lane_batch o where o.lane_id = s.lane_id and o.status < 10 /* open */))
  order by s.lane_id for no key update of s) l
where s.lane_id = l.lane_id
returning s.queuer_id as "queuerId"`,
    values: [partitions],
  });
  return [...new Set(rows.map(({ queuerId }) => queuerId))];
};

/**
 * Marks lanes as ready: step 1 of the ring for lanes. Without a condition, so that it waits for a
 * grant that holds the row and is about to clear a mark it read before this caller's commit.
 */
export const markReady = async (db: Queryable, laneIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'mark-lanes-ready',
    text: `
update lane_state s set ready = true
from (select lane_id from lane_state where lane_id = any($1::int[]) order by lane_id for no key update) l
  where s.lane_id = l.lane_id`,
    values: [laneIds],
  });
};

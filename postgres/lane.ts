import type { LaneRules } from '../activities/handlers/types';
import { ROUND } from '../workflows/planning/queuer/strategies';
import { APPROACHES, LANE_KINDS, ON_INVALID } from '../workflows/planning/queuer/types';
import type { Client, Queryable } from './pool';

/** Lanes as submitters know them: registered, bound to targets, locked for the length of an acceptance. */

export interface LaneRow {
  id: number;
  service: string;
  queuerId: number;
}

/**
 * Registers services, then the targets that feed them; in commits of their own, before anything is submitted to them. The first handler that
 * uses a service gives its lane the rules, and may change them; another one's are not taken.
 */
export const registerLanes = async (
  db: Queryable,
  handlerId: number,
  services: readonly string[],
  rules: LaneRules,
): Promise<LaneRow[]> => {
  await db.query({
    name: 'register-lanes',
    text: `
insert into lane (service, handler_id, kind, approach, on_invalid, pending_limit)
select s, $2, $3, $4, $5, $6 from unnest($1::text[]) s order by s
on conflict (service) do update set kind = excluded.kind, approach = excluded.approach, on_invalid = excluded.on_invalid, pending_limit = excluded.pending_limit
where lane.handler_id = excluded.handler_id and (lane.kind, lane.approach, lane.on_invalid, lane.pending_limit)
  is distinct from (excluded.kind, excluded.approach, excluded.on_invalid, excluded.pending_limit)`,
    values: [
      services,
      handlerId,
      LANE_KINDS[rules.kind],
      APPROACHES[rules.approach],
      ON_INVALID[rules.onInvalid],
      rules.pendingLimit ?? null,
    ],
  });
  await db.query({
    name: 'register-lane-states',
    text: `
insert into lane_state (lane_id, queuer_id, served)
select l.id, l.queuer_id, q.round + ${ROUND} from lane l join queuer q on q.id = l.queuer_id where l.service = any($1::text[]) order by l.id on conflict do nothing`,
    values: [services],
  });
  return findLanes(db, services);
};

export const findLanes = async (db: Queryable, services: readonly string[]): Promise<LaneRow[]> => {
  const { rows } = await db.query<LaneRow>({
    name: 'find-lanes',
    text: 'select id, service, queuer_id as "queuerId" from lane where service = any($1::text[])',
    values: [services],
  });
  return rows;
};

/** Binds targets that feed no lane yet; answers which lane each of them feeds now (C4: a target feeds one lane, for good). */
export const bindTargets = async (
  db: Queryable,
  targetIds: readonly number[],
  laneIds: readonly number[],
): Promise<Map<number, number>> => {
  await db.query({
    name: 'bind-targets',
    text: `
update target t set lane_id = b.lane_id from unnest($1::int[], $2::int[]) b (target_id, lane_id) where t.id = b.target_id and t.lane_id is null`,
    values: [targetIds, laneIds],
  });
  const { rows } = await db.query<{ id: number; laneId: number }>({
    name: 'find-lanes-of-targets',
    text: 'select id, lane_id as "laneId" from target where id = any($1::int[])',
    values: [targetIds],
  });
  return new Map(rows.map(({ id, laneId }) => [id, laneId]));
};

/**
 * The lock under which sequences are drawn (C27): in id order, held to the caller's commit, so that a number drawn later is committed later.
 */
export const lockLanes = async (client: Queryable, laneIds: readonly number[]): Promise<void> => {
  await client.query({
    name: 'lock-lanes',
    text: 'select from lane where id = any($1::int[]) order by id for no key update',
    values: [laneIds],
  });
};

/** The moving rows of some lanes, locked in id order by whoever is about to change several. */
export const lockLaneStates = async (client: Client, laneIds: readonly number[]): Promise<void> => {
  await client.query({
    name: 'lock-lane-states',
    text: 'select from lane_state where lane_id = any($1::int[]) order by lane_id for no key update',
    values: [laneIds],
  });
};

/**
 * R1 of lanes: worth a look. Without a condition, so that it waits for a grant that holds the row and is about to clear what it read before
 * this caller's commit.
 */
export const markReady = async (db: Queryable, laneIds: readonly number[]): Promise<void> => {
  await db.query({
    name: 'mark-lanes-ready',
    text: `
update lane_state s set ready = true
from (select lane_id from lane_state where lane_id = any($1::int[]) order by lane_id for no key update) l where s.lane_id = l.lane_id`,
    values: [laneIds],
  });
};

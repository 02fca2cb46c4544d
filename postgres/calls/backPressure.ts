import type { Queryable } from '../pool';
import { SLOTS_TAKEN } from '../grouping/slots';
import { CALLS_OF_TARGET } from '../limits/inForce';
import { SHARED_OVER, sharersWait } from '../limits/shared';

/**
 * The slots of a target's queuer: a lane never has more calls in flight than these, so a limit
 * above them is halved from there, and counts as recovered there. Null for a target that feeds no
 * lane; least() passes over it.
 */
const SLOTS = `(select q.slots from lane l join queuer q on q.id = l.queuer_id where l.id = t.lane_id)`;

/**
 * The limits that a call was made under: how often those of its target and of its handler had been
 * reduced, as far as its sender knew. Its outcome says nothing about limits that were reduced since
 * then: many calls that are refused together count as one refusal.
 */
export interface Under {
  targetId: number;
  targetReductions: number;
  handlerReductions: number;
}

/**
 * Applies back pressure: holds the target for `inMs` and halves the calls that it and its handler
 * may have in flight.
 */
export const holdTarget = async (db: Queryable, under: Under, inMs: number): Promise<void> => {
  await db.query({
    name: 'hold-target',
    text: `
update target t set hold_until = greatest(t.hold_until, clock() + $2 * interval '1 ms'),
  due_at = greatest(t.due_at, t.hold_until, clock() + $2 * interval '1 ms'),
  allowed = case when t.reductions = $3 then greatest(1, coalesce(t.allowed, ${CALLS_OF_TARGET}) / 2)
    else t.allowed end,
  reductions = t.reductions + (t.reductions = $3)::int
from handler h
where t.id = $1 and h.id = t.handler_id`,
    values: [under.targetId, inMs, under.targetReductions],
  });
};

export const holdHandler = async (db: Queryable, under: Under, inMs: number): Promise<void> => {
  await db.query({
    name: 'hold-handler',
    text: `
update handler h set hold_until = greatest(h.hold_until, clock() + $2 * interval '1 ms'),
  allowed = case when h.reductions = $3 then greatest(1, coalesce(h.allowed, least(h.per_handler, ${SLOTS})) / 2)
    else h.allowed end, reductions = h.reductions + (h.reductions = $3)::int
from target t
where t.id = $1 and h.id = t.handler_id`,
    values: [under.targetId, inMs, under.handlerReductions],
  });
};

/**
 * Applies back pressure to a target that feeds a lane, without a hold: the lane has its own
 * (`holdLane`). Changes nothing if the lane sends one batch after the other, so one at once. Call
 * it after locking the lane's row, as a grant does before it takes of a target's rate.
 */
export const reduceTargetInLane = async (db: Queryable, under: Under): Promise<void> => {
  await db.query({
    name: 'reduce-target-in-lane',
    text: `
update target t set allowed = greatest(1, coalesce(t.allowed, least(${CALLS_OF_TARGET}, h.per_handler, q.slots)) / 2),
  reductions = t.reductions + 1
from handler h, lane l, queuer q
where t.id = $1 and t.reductions = $2 and h.id = t.handler_id and l.id = t.lane_id and q.id = l.queuer_id
  and not (l.on_invalid = 1 /* halt */ or l.approach = 1 /* serial */ and l.kind = 1 /* non-guaranteed */)`,
    values: [under.targetId, under.targetReductions],
  });
};

/** Allows one more call at once after a success, until the limit is the configured one again. */
export const recoverAllowed = async (db: Queryable, under: Under): Promise<void> => {
  await db.query({
    name: 'recover-target',
    text: `
update target t set allowed = case when t.allowed + 1 < least(${CALLS_OF_TARGET}, ${SLOTS}) then t.allowed + 1 end
  from handler h
where t.id = $1 and h.id = t.handler_id and t.allowed is not null and t.reductions = $2`,
    values: [under.targetId, under.targetReductions],
  });
  await db.query({
    name: 'recover-handler',
    text: `
update handler h set allowed = case when h.allowed + 1 < least(h.per_handler, ${SLOTS}) then h.allowed + 1 end
from target t
where t.id = $1 and h.allowed is not null and h.id = t.handler_id and h.reductions = $2`,
    values: [under.targetId, under.handlerReductions],
  });
};

/** What a running dispatch may do now. */
export interface Pressure {
  handlerId: number;
  /** The dispatch's own slots, those of all dispatches of the handler, and the handler's limit. */
  slots: number;
  taken: number;
  limit: number;
  /** Concurrent calls of a target that is not among `targets`. */
  perTarget: number;
  reduced: boolean;
  reductions: number;
  holdInMs: number | null;
  /** The handler's rates have changed since the dispatch's calls were planned. */
  repaced: boolean;
  /** The handlers that share its limit hold more calls than that has. */
  sharedOver: boolean;
  /** Another leader waits for slots, of this handler or of one with which it shares a limit. */
  wanted: boolean;
  /**
   * Targets that back pressure holds or has reduced, those reduced since they were `known`, and
   * those for which calls are set.
   */
  targets: {
    id: number;
    calls: number;
    reduced: boolean;
    /** Its calls were set at run time. */
    own: boolean;
    reductions: number;
    holdInMs: number | null;
    /** Calls that other dispatches have in flight. */
    others: number;
  }[];
}

/** Returns the current limits for one dispatch and its targets. Null: the dispatch is not known. */
export const readPressure = async (
  db: Queryable,
  leaderId: number,
  no: number,
  known: readonly { id: number; reductions: number }[],
): Promise<Pressure | null> => {
  const { rows } = await db.query<Pressure>({
    name: 'read-pressure',
    text: `
select h.id as "handlerId", o.slots, ${SLOTS_TAKEN} as taken, least(h.per_handler, h.allowed) as "limit",
  h.per_target as "perTarget", h.allowed is not null as reduced, h.reductions,
  (extract(epoch from h.hold_until - clock()) * 1000)::float8 as "holdInMs",
  exists (select from leader l where l.handler_id = h.id and l.blocked and l.wants_slots)
  or ${sharersWait('h.id')} as wanted, ${SHARED_OVER} as "sharedOver",
  o.rate_changes <> h.rate_changes as repaced, coalesce((select json_agg(json_build_object(
         'id', t.id, 'calls', least(${CALLS_OF_TARGET}, t.allowed), 'reduced', t.allowed is not null, 'own',
         t.per_target is not null, 'reductions',
         t.reductions, 'holdInMs', (extract(epoch from t.hold_until - clock()) * 1000)::float8, 'others',
         (select count(*)
          from batch b
          where b.target_id = t.id and b.state = 1 /* open */ and b.dispatch <> $2 and b.attempt_until is not null)))
     from unnest($3::int[], $4::int[]) k (id, reductions) join target t on t.id = k.id
     where t.allowed is not null or t.per_target is not null or t.hold_until > clock()
       or t.reductions <> k.reductions), '[]') as targets
from dispatch o join handler h on h.id = o.handler_id
where o.leader_id = $1 and o.no = $2`,
    values: [leaderId, no, known.map(({ id }) => id), known.map(({ reductions }) => reductions)],
  });
  return rows[0] ?? null;
};

import { batches } from '../../../postgres/invariants/batches';
import { keys } from '../../../postgres/invariants/keys';
import { places } from '../../../postgres/invariants/places';
import type { Pool } from '../../../postgres/pool';
import type { World } from './world';

/**
 * What must hold whenever the world is at rest: found by separate statements, not by those that the
 * protocol uses. `lost`: work whose target is due too late or never.
 * `overdue`: a target that is due before its leader looks. `stuck`: a leader is said to be at work,
 * and is not. `twice`: a task in two places. `together`: equal keys, or one batch, in two calls.
 * `disorder`: a key's tasks out of order. `spins`: a leader that looks without end.
 */
export interface Finding {
  kind: 'lost' | 'overdue' | 'stuck' | 'twice' | 'spins' | 'together' | 'disorder';
  what: string;
}

interface TargetFacts {
  targetId: number;
  leaderId: number;
  key: string;
  dueMs: number | null;
  shouldMs: number | null;
  open: boolean;
}

/**
 * When each target should be due at the latest, from its tasks and batches alone (handlers without
 * bytes or weights).
 */
const TARGETS = `
select t.id as "targetId", t.leader_id as "leaderId", t.key, extract(epoch from t.due_at)::float8 * 1000 as "dueMs",
  extract(epoch from (select greatest(t.hold_until, w.at) from (select least(
    (select case when count(*) >= coalesce((t.overrides->>'maxItems')::int, h.max_items) or bool_or(q.seq <= t.flush_seq) then min(q.ready_at)
       else min(q.ready_at) + coalesce((t.overrides->>'lingerMs')::bigint, h.linger_ms) * interval '1 ms' end
     from queue q where q.target_id = t.id and (not h.keyed or not exists (select from queue x where x.target_id = t.id and x.key = q.key and x.seq < q.seq)
       and not exists (select from busy_key k where k.target_id = t.id and k.key = q.key and k.seq <> q.seq)) having count(*) > 0),
    (select min(d.not_before) from delayed d where d.target_id = t.id),
    (select min(coalesce(b.retry_at, b.created_at)) from batch b where b.target_id = t.id and b.state = 1 and b.dispatch is null and b.reference is null and not b.refused)
  ) as at) w where w.at is not null))::float8 * 1000 as "shouldMs",
  not t.paused and h.paused_at is null as open
from target t join handler h on h.id = t.handler_id
where not t.busy and (exists (select from queue q where q.target_id = t.id) or exists (select from delayed d where d.target_id = t.id)
  or exists (select from batch b where b.target_id = t.id and b.state = 1 and b.dispatch is null and b.reference is null and not b.refused))`;

interface LeaderFacts {
  id: number;
  state: number;
  blocked: boolean;
  wakeMs: number | null;
  expiresMs: number | null;
  dueMs: number | null;
  carried: number;
  busy: number;
  starves: boolean;
}
const LEADERS = `
select l.id, l.state, l.blocked, extract(epoch from l.wake_at)::float8 * 1000 as "wakeMs",
  extract(epoch from l.expires_at)::float8 * 1000 as "expiresMs",
  (select extract(epoch from min(greatest(t.due_at, h.hold_until)))::float8 * 1000 from target t where t.leader_id = l.id and t.due_at is not null
    and not t.paused and not t.busy and h.paused_at is null and t.id <> all($1::int[])) as "dueMs",
  (select count(*)::int from batch b where b.leader_id = l.id and b.state = 1 and b.dispatch is not null) as carried,
  (select count(*)::int from target t where t.leader_id = l.id and t.busy) as busy,
  l.blocked and l.wants_slots and not exists (select from dispatch d where d.handler_id = l.handler_id) as "starves"
from leader l join handler h on h.id = l.handler_id`;

/** The world is at rest. Deaths that the net has yet to make up for are no findings. */
export const check = async (world: World): Promise<Finding[]> => {
  const { pool } = world;
  const found: Finding[] = await twice(pool);
  if (world.failure !== undefined) throw world.failure;
  if (world.spinning > 0) found.push({ kind: 'spins', what: 'a leader took turns without end' });
  const nowMs = world.clock.nowMs();
  for (const target of (await pool.query<TargetFacts>({ text: TARGETS })).rows) {
    if (world.unrung.has(target.targetId) || target.shouldMs === null) continue;
    const shouldMs = Math.max(nowMs, target.shouldMs);
    if (target.dueMs === null || target.dueMs > shouldMs) {
      const facts = await factsOf(pool, target.targetId);
      found.push({
        kind: 'lost',
        what: `target ${target.key}: due ${target.dueMs ?? 'never'}, should be by ${shouldMs}; ${facts}`,
      });
    }
  }
  for (const leader of (await pool.query<LeaderFacts>({ text: LEADERS, values: [[...world.unrung]] })).rows) {
    // Its lease says when it is woken again, and the sweep after that does it.
    if (world.silent.has(leader.id) && leader.state !== 0 && leader.expiresMs! >= world.sweptAtMs) continue;
    found.push(...judge(leader, world.runs.has(leader.id), nowMs));
  }
  return found;
};

/** What the target and its leader look like, for whoever has to explain the finding. */
const factsOf = async (pool: Pool, targetId: number): Promise<string> => {
  const { rows } = await pool.query<object>(
    `
select to_jsonb(t) as target, to_jsonb(l) as leader,
  (select jsonb_agg(to_jsonb(q)) from queue q where q.target_id = t.id) as queue,
  (select jsonb_agg(to_jsonb(d)) from delayed d where d.target_id = t.id) as delayed,
  (select jsonb_agg(to_jsonb(b)) from batch b where b.target_id = t.id and b.state = 1) as batches,
  (select jsonb_agg(to_jsonb(k)) from busy_key k where k.target_id = t.id) as keys
from target t join leader l on l.id = t.leader_id where t.id = $1`,
    [targetId],
  );
  return JSON.stringify(rows[0]);
};

const judge = (leader: LeaderFacts, runs: boolean, nowMs: number): Finding[] => {
  const { id, state, dueMs, wakeMs } = leader;
  const found: Finding[] = [];
  const say = (kind: Finding['kind'], what: string): void => void found.push({ kind, what: `leader ${id}: ${what}` });
  if (state !== 0 && !runs) say('stuck', `its row says ${state === 1 ? 'working' : 'waiting'}, and no run is there`);
  if (state === 1 && runs) say('stuck', 'its row says working, and its run sleeps');
  if (dueMs !== null && state === 0) say('overdue', 'idle, and a target of it is due');
  if (dueMs !== null && state === 2 && !leader.blocked && wakeMs! > Math.max(nowMs, dueMs))
    say('overdue', `waits until ${wakeMs}, a target is due at ${dueMs}`);
  if (leader.starves && dueMs !== null && dueMs <= nowMs) say('overdue', 'waits for slots, and nobody holds any');
  if (state === 0 && leader.carried > 0) say('stuck', `idle with ${leader.carried} batches in nobody's hands`);
  if (state === 0 && leader.busy > 0) say('stuck', `idle with ${leader.busy} busy targets`);
  return found;
};

/** What must hold at any instant: rows that break it. */
export const twice = async (pool: Pool): Promise<Finding[]> => {
  const found: Finding[] = [];
  for (const { name, text } of [...places, ...batches, ...keys]) {
    const { rows } = await pool.query({ text });
    if (rows.length > 0) found.push({ kind: 'twice', what: `${name}: ${JSON.stringify(rows[0])}` });
  }
  return found;
};

/**
 * Returns where the first open tasks stand: their target, their leader, and who holds their key.
 */
const standing = async (pool: Pool): Promise<object[]> => {
  const { rows } = await pool.query<object>(`
select s.id, s.state, k.key, h.name as handler, h.paused_at is not null as "handlerPaused",
  jsonb_build_object('key', t.key, 'due', t.due_at, 'busy', t.busy, 'paused', t.paused, 'hold', t.hold_until) as target,
  jsonb_build_object('state', l.state, 'wake', l.wake_at, 'blocked', l.blocked, 'expires', l.expires_at) as leader,
  (select jsonb_agg(jsonb_build_object('task', o.id, 'state', o.state)) from busy_key b join task_state o on o.seq = b.seq
   where b.target_id = t.id and b.key = k.key) as "keyHeldBy"
from task_state s join task k on k.seq = s.seq join target t on t.id = k.target_id join leader l on l.id = t.leader_id
  join handler h on h.id = t.handler_id
where s.state < 3 order by s.seq limit 3`);
  return rows;
};

/** How soon the sweeper is promised to find what was lost (G14). */
const SWEEP_MS = 5_000;

/**
 * Tasks that must still come to an end by themselves: not those whose key an unknown outcome holds,
 * which wait until it is resolved.
 */
const OPEN = `
select s.id from task_state s join task k on k.seq = s.seq
where s.state < 3 and not exists (select from busy_key b join task_state o on o.seq = b.seq
  where b.target_id = k.target_id and b.key = k.key and b.seq <> k.seq and o.state = 3)
limit 1`;

/**
 * Moves the time on until every task has come to its end, or is parked (unknown); answers what
 * never does.
 */
export const drain = async (world: World, most = 500): Promise<Finding[]> => {
  for (let step = 0; step < most; step++) {
    await world.rest();
    const found = await check(world);
    if (found.length > 0) return found;
    const open = await world.pool.query<{ id: string }>(OPEN);
    if (open.rows.length === 0 && world.runs.size === 0) return [];
    const timer = world.clock.nextTimerMs();
    const net = world.silent.size > 0 || world.unrung.size > 0;
    if (timer === null && !net && step > 0)
      return [
        { kind: 'stuck', what: `nothing will happen any more, open: ${JSON.stringify(await standing(world.pool))}` },
      ];
    // Not beyond the next timer: what should have happened before it is then seen to be late.
    await world.clock.step(
      Math.max(1, Math.min(timer === null ? SWEEP_MS : timer - world.clock.nowMs(), net ? SWEEP_MS : Infinity)),
    );
    await world.rest();
    await world.sweep();
  }
  return [{ kind: 'stuck', what: `not drained in ${most} steps` }];
};

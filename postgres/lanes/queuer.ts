import type { SilentTurn, TurnEnd } from '../grouping/leader';
import type { Client, Queryable } from '../pool';

/** The ring state of queuers: a row like a leader's, woken by the same protocol. */

export interface WokenQueuer {
  queuerId: number;
}

/**
 * A submitter is free, and something may go now, or sooner than the queuer knows; or a submitter is
 * dead, and its batches are to be recovered.
 */
const HAS_WORK = `
  (exists (select from submitter m where m.queuer_id = q.id and m.expires_at <= clock())
    or exists (
      select from lane_state s
      where s.queuer_id = q.id and s.ready and s.paused_at is null and s.halted_by is null)
    or exists (
      select from lane_state s
      where s.queuer_id = q.id and not s.ready and s.due_at < coalesce(q.wake_at, 'infinity') and s.paused_at is null
        and s.halted_by is null))
    and coalesce(
      (select sum(m.slots) from submitter m where m.queuer_id = q.id and m.expires_at > clock()), 0) < q.slots`;

/**
 * Takes the queuers to wake: step 2 of the ring, the election, after the commit of `markReady`. A
 * queuer whose submitters are all at work is not woken: each submitter looks for the next batch
 * itself, and looks once more after it gave up its slot.
 */
export const wakeQueuers = async (
  db: Queryable,
  queuerIds: readonly number[],
  leaseMs: number,
): Promise<WokenQueuer[]> => {
  const { rows } = await db.query<WokenQueuer>({
    name: 'wake-queuers',
    text: `
update queuer q set state = 1 /* working */, wake_at = null, expires_at = clock() + $2 * interval '1 ms',
  woken_at = clock()
where q.id = any($1::smallint[]) and q.paused_at is null and (q.state = 0 /* idle */ or q.state = 2 /* waiting */
  and q.wake_at > clock()) and ${HAS_WORK}
returning q.id as "queuerId"`,
    values: [queuerIds, leaseMs],
  });
  return rows;
};

/**
 * Wakes queuers that were silent past their lease, and those whose lanes became due unnoticed. For
 * the sweeper.
 */
export const wakeExpiredQueuers = async (db: Queryable, leaseMs: number): Promise<(WokenQueuer & SilentTurn)[]> => {
  const { rows } = await db.query<WokenQueuer & SilentTurn>({
    name: 'wake-expired-queuers',
    text: `
update queuer q set state = 1 /* working */, wake_at = null, expires_at = clock() + $1 * interval '1 ms',
  woken_at = case when q.state = 1 /* working */ then coalesce(q.woken_at, clock()) else clock() end
from queuer o
where o.id = q.id /* as it was */ and (q.state <> 0 /* idle */ and q.expires_at < clock()
  or q.paused_at is null and (q.state = 0 /* idle */ or q.wake_at > clock() + interval '2 s') and ${HAS_WORK})
returning q.id as "queuerId", q.epoch, q.turn, q.holder,
  case when o.state <> 0 /* idle */ and o.expires_at < clock() then (extract(
    epoch from clock() - coalesce(o.woken_at, o.expires_at - $1 * interval '1 ms')) * 1000)::float8
    else 0 end as "silentMs"`,
    values: [leaseMs],
  });
  return rows;
};

/** Returns the queuers of some lanes. */
export const queuersOf = async (db: Queryable, laneIds: readonly number[]): Promise<number[]> => {
  const { rows } = await db.query<{ id: number }>({
    name: 'queuers-of',
    text: 'select distinct queuer_id as id from lane_state where lane_id = any($1::int[])',
    values: [laneIds],
  });
  return rows.map(({ id }) => id);
};

/**
 * Makes the queuer step down without a turn, when its last submitter ends and nothing is left.
 * Nothing may have woken it, and no work may wait for its time.
 */
export const releaseQueuer = async (db: Queryable, queuerId: number, epoch: number): Promise<boolean> => {
  const { rowCount } = await db.query({
    name: 'release-queuer',
    text: `
update queuer q set state = 0 /* idle */, wake_at = null, expires_at = null
where q.id = $1 and q.epoch = $2 and q.state = 2 /* waiting */
  and not exists (select from submitter m where m.queuer_id = q.id) and not exists (
    select from lane_state s
    where s.queuer_id = q.id and (s.ready or s.due_at is not null) and s.paused_at is null and s.halted_by is null)`,
    values: [queuerId, epoch],
  });
  return rowCount === 1;
};

export interface QueuerTurnEnd extends TurnEnd {
  queuerId: number;
}

/**
 * Ends a turn: writes what the queuer does next, and the answer that a repeat of this turn gets.
 */
export const publishGrantTurn = async (client: Client, p: QueuerTurnEnd): Promise<void> => {
  await client.query({
    name: 'publish-grant-turn',
    text: `
update queuer set state = $2::smallint, wake_at = to_timestamp($3::float8 / 1000), holder = $4,
  run_started_at = to_timestamp($5::float8 / 1000),
  acquired_at = case when epoch = $6 then acquired_at else clock() end, epoch = $6, turn = $7, answer = $8,
  expires_at = case when $2::smallint <> 0 /* idle */ then greatest(clock(),
    to_timestamp($3::float8 / 1000)) + $9 * interval '1 ms' end, woken_at = null
where id = $1`,
    values: [
      p.queuerId,
      p.state,
      p.wakeAtMs,
      p.runId,
      p.runStartedAtMs,
      p.epoch,
      p.turn,
      JSON.stringify(p.answer),
      p.leaseMs,
    ],
  });
};

/**
 * Says whether there is something to grant that the queuer did not see. Call it after the
 * publication's commit, in a new snapshot.
 */
export const hasUnseenWork = async (db: Queryable, queuerId: number): Promise<boolean> => {
  const { rows } = await db.query<{ work: boolean }>({
    name: 'has-unseen-work',
    text: `
select q.state <> 1 /* working */ and q.paused_at is null and exists (
  select from lane_state s
  where s.queuer_id = q.id and s.ready and s.paused_at is null and s.halted_by is null)
  and coalesce((select sum(m.slots) from submitter m where m.queuer_id = q.id), 0) < q.slots as work
from queuer q
where q.id = $1`,
    values: [queuerId],
  });
  return rows[0]?.work ?? false;
};

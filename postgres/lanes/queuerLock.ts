import type { LastRun } from '../grouping/leader';
import type { Client } from '../pool';

/**
 * A queuer, locked until the grant ends, so that its grants run one after another and its lanes
 * need no extra lock.
 */
export interface LockedQueuer extends LastRun {
  slots: number;
  /** Slots held by live submitters. */
  taken: number;
  /** A submitter gave no sign of life for the length of its lease. */
  expired: boolean;
  strategy: number;
  depth: number;
  round: number;
  paused: boolean;
}

export const lockQueuer = async (client: Client, queuerId: number): Promise<LockedQueuer | null> => {
  await client.query({
    name: 'lock-queuer',
    text: 'select from queuer where id = $1 for no key update',
    values: [queuerId],
  });
  // A separate statement: its snapshot sees what the lock's previous holder has written.
  const { rows } = await client.query<LockedQueuer>({
    name: 'read-queuer',
    text: `
select q.holder, (extract(epoch from q.run_started_at) * 1000)::float8 as "runStartedAtMs", q.epoch, q.turn, q.answer,
  (extract(epoch from q.wake_at) * 1000)::float8 as "wakeAtMs", (extract(epoch from clock()) * 1000)::float8 as "nowMs",
  q.slots, coalesce(
    (select sum(m.slots) from submitter m where m.queuer_id = q.id and m.expires_at > clock()), 0)::int as taken,
  exists (select from submitter m where m.queuer_id = q.id and m.expires_at <= clock()) as expired, q.strategy,
  q.depth, q.round, q.paused_at is not null as paused
from queuer q
where q.id = $1`,
    values: [queuerId],
  });
  return rows[0] ?? null;
};

import { INSTALLATION } from './installation';
import type { Queryable } from './pool';
import type { WokenQueuer } from './queuer';
import type { WokenLeader } from './ring';

/** Who was woken and has taken no turn since. For the sweeper. */

/** Longest silent first. */
export const silentLeaders = async (
  db: Queryable,
  forMs: number,
  limit: number,
): Promise<(WokenLeader & { silentMs: number })[]> => {
  const { rows } = await db.query<WokenLeader & { silentMs: number }>({
    name: 'silent-leaders',
    text: `
select l.id as "leaderId", h.name as handler, l.name, 0::float8 as "dueInMs", ${INSTALLATION} as installation, extract(epoch from clock() - l.woken_at)::float8 * 1000 as "silentMs"
from leader l join handler h on h.id = l.handler_id
where l.state <> 0 and l.state = 1 and l.woken_at < clock() - $1 * interval '1 ms' order by l.woken_at limit $2`,
    values: [forMs, limit],
  });
  return rows;
};

export const silentQueuers = async (db: Queryable, forMs: number): Promise<(WokenQueuer & { silentMs: number })[]> => {
  const { rows } = await db.query<WokenQueuer & { silentMs: number }>({
    name: 'silent-queuers',
    text: `
select id as "queuerId", extract(epoch from clock() - woken_at)::float8 * 1000 as "silentMs" from queuer
where state = 1 and woken_at < clock() - $1 * interval '1 ms' order by woken_at`,
    values: [forMs],
  });
  return rows;
};

/** The last turn of each of these executions that is not over. */
export const executionTurns = async (
  db: Queryable,
  ids: readonly string[],
): Promise<{ id: string; turn: string }[]> => {
  const { rows } = await db.query<{ id: string; turn: string }>({
    name: 'execution-turns',
    text: `select id, epoch || '/' || turn as turn from execution where id = any($1::uuid[]) and state in (0, 1)`,
    values: [ids],
  });
  return rows;
};

/** When the balancer's last round was; null: there was none. */
export const lastRound = async (db: Queryable): Promise<string | null> => {
  const { rows } = await db.query<{ at: string }>({
    name: 'last-round',
    text: `select expires_at::text as at from lease where resource = 'assignor'`,
  });
  return rows[0]?.at ?? null;
};

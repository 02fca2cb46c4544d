import type { Queryable } from '../pool';

/** Returns the last turn of each of these executions that has not ended. */
export const executionTurns = async (
  db: Queryable,
  ids: readonly string[],
): Promise<{ id: string; turn: string }[]> => {
  const { rows } = await db.query<{ id: string; turn: string }>({
    name: 'execution-turns',
    text: `select id, epoch || '/' || turn as turn from execution where id = any($1::uuid[])
      and state in (0 /* created */, 1 /* in progress */)`,
    values: [ids],
  });
  return rows;
};

/** Returns when the balancer's last round was; null: there was none. */
export const lastRound = async (db: Queryable): Promise<string | null> => {
  const { rows } = await db.query<{ at: string }>({
    name: 'last-round',
    text: `select expires_at::text as at from lease where resource = 'assignor'`,
  });
  return rows[0]?.at ?? null;
};

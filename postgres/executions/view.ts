import type { ItemCounts } from '../../workflows/planning/executions/states';
import { isAllowedName } from '../api/allowedNames';
import type { Queryable } from '../pool';

export interface ExecutionRow {
  id: string;
  functionId: string;
  method: string;
  config: Record<string, unknown>;
  topic: string | null;
  state: number;
  items: number;
  counts: ItemCounts;
  maxAttempts: number;
  attemptsLimit: number | null;
  round: number;
  note: string | null;
  /**
   * Time since it was woken, if no turn has answered; null: a turn has, or the execution has ended.
   */
  wokenMs: number | null;
  createdAt: Date;
  startedAt: Date | null;
  finishedAt: Date | null;
}

const COUNTS = `json_build_object('created', n_created, 'inProgress', n_running,
  'done', n_done, 'failed', n_failed, 'permanentlyFailed', n_dead)`;
const COLUMNS = `id, function_id as "functionId", method, config, topic, state, items, max_attempts as "maxAttempts",
  attempts_limit as "attemptsLimit", round, note,
  case when state in (0 /* created */, 1 /* in progress */) then (extract(epoch
    from clock() - woken_at) * 1000)::float8 end as "wokenMs", created_at as "createdAt", started_at as "startedAt",
    finished_at as "finishedAt", ${COUNTS} as counts`;

export const readExecution = async (db: Queryable, id: string): Promise<ExecutionRow | null> => {
  const { rows } = await db.query<ExecutionRow>({
    name: 'read-execution',
    text: `select ${COLUMNS} from execution where id = $1 and state <> -4 /* deleted */`,
    values: [id],
  });
  return rows[0] ?? null;
};

export type ProgressRow = Pick<ExecutionRow, 'state' | 'items' | 'counts'>;

/** Returns how far an execution is, without its settings: they may have megabytes. */
export const readProgress = async (db: Queryable, id: string): Promise<ProgressRow | null> => {
  const { rows } = await db.query<ProgressRow>({
    name: 'read-execution-progress',
    text: `select state, items, ${COUNTS} as counts from execution where id = $1 and state <> -4 /* deleted */`,
    values: [id],
  });
  return rows[0] ?? null;
};

/** A page of listed executions: so many, and fewer where their settings reach `maxBytes`. */
export interface ExecutionsPage {
  limit: number;
  maxBytes: number;
}

const listing = (condition: string): string => `
select ${COLUMNS}
from (
  select i.*, sum(octet_length(i.config::text))
    over (order by i.created_at desc, i.id rows between unbounded preceding and 1 preceding) as before
  from (
    select *
    from execution
    where ${condition} and state <> -4 /* deleted */
    order by created_at desc, id
    limit $1
  ) i
) e
where coalesce(before, 0) < $2
order by created_at desc, id`;

/** Returns executions, newest first. */
export const listExecutions = async (db: Queryable, { limit, maxBytes }: ExecutionsPage): Promise<ExecutionRow[]> => {
  const { rows } = await db.query<ExecutionRow>({
    name: 'list-executions',
    text: listing('true'),
    values: [limit, maxBytes],
  });
  return rows;
};

/**
 * Returns executions of a tenant, newest first; where `functions` is not null, of those whose names
 * are in it or begin as one with a `*` says.
 */
export const listExecutionsOf = async (
  db: Queryable,
  tenant: string,
  functions: readonly string[] | null,
  { limit, maxBytes }: ExecutionsPage,
): Promise<ExecutionRow[]> => {
  const { rows } = await db.query<ExecutionRow>({
    name: 'list-executions-of',
    text: listing(`tenant = $3 and ($4::text[] is null or ${isAllowedName('function_id', '$4')})`),
    values: [limit, maxBytes, tenant, functions],
  });
  return rows;
};

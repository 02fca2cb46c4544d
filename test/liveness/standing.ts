import { appendFileSync } from 'node:fs';
import type { Client as TemporalClient } from '@temporalio/client';
import type pg from 'pg';
import { monitorWorkflowId, notifierWorkflowId, queuerWorkflowId } from '../../workflows/naming';
import type { Mover } from './movers';

/** Why something stands: what Temporal has open of its run, and what Postgres is at meanwhile. */

/** From then on it is written down, each round. */
export const STANDS_MS = 12_000;

const QUERIES = `
select pid, application_name as app, state, wait_event_type as waits, wait_event as for,
  extract(epoch from clock_timestamp() - query_start) as "queryS",
  extract(epoch from clock_timestamp() - xact_start) as "xactS", pg_blocking_pids(pid) as by, left(query, 120) as query
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
  and clock_timestamp() - query_start > interval '1 s'`;

export const writeStanding = async (
  file: string,
  movers: readonly (readonly [Mover, number])[],
  { temporal, prefix, store }: { temporal: TemporalClient; prefix: string; store: pg.Pool },
): Promise<void> => {
  const runs = await Promise.all(
    movers.flatMap(([mover]) => runOf(mover, prefix)).map((id) => pendingOf(temporal, id)),
  );
  const { rows } = await store.query(QUERIES);
  const stands = Object.fromEntries(movers.map(([{ name }, ms]) => [name, Math.round(ms)]));
  appendFileSync(file, `${JSON.stringify({ at: new Date(), stands, runs, queries: rows })}\n`);
};

const runOf = ({ kind, handler, lane }: Mover, prefix: string): string[] => {
  if (kind === 'callback') return [notifierWorkflowId(prefix)];
  if (kind === 'ask') return [monitorWorkflowId(prefix, handler)];
  return lane ? [queuerWorkflowId(prefix, 0)] : [];
};

const pendingOf = async (temporal: TemporalClient, id: string): Promise<object> => {
  try {
    const { raw, runId, status, historyLength } = await temporal.workflow.getHandle(id).describe();
    const { pendingActivities: activities, pendingWorkflowTask: task } = raw;
    return { id, runId, status: status.name, historyLength, activities, task };
  } catch (error) {
    return { id, error: String(error) };
  }
};

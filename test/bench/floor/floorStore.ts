import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import type { ItemAnswer } from '../rig/callDownstream';
import type { BenchTask } from '../tasks';

/**
 * The floor's statements: a row a task, its caller's id unique, one partial index to claim by. The
 * least that a row-per-task design does.
 */

export const FLOOR_SCHEMA = `
create table floor_task (
  id text primary key, seq bigint generated always as identity, target text not null, payload json not null, state smallint not null default 0,
  created_at timestamptz not null default clock_timestamp(), finished_at timestamptz, result json);
create index floor_ready on floor_task (target, seq) where state = 0;`;

/** Plans as Muster's own sessions have them: one made on an empty table would stay bad. */
export const floorPool = (databaseUrl: string, max: number): pg.Pool =>
  new pg.Pool({
    connectionString: databaseUrl,
    max,
    application_name: 'floor',
    options: '-c enable_seqscan=off -c jit=off',
  });

export const copyIn = async (client: pg.ClientBase, tasks: readonly BenchTask[]): Promise<void> => {
  const lines = tasks.map((task) => `${task.id}\t${task.target}\t${JSON.stringify(task.payload)}\n`);
  const stream = client.query(copyFrom('copy floor_task (id, target, payload) from stdin'));
  await pipeline(Readable.from([lines.join('')]), stream);
};

/** One task by a statement, and a commit, of its own. */
export const insertOne = async (pool: pg.Pool, { id, target, payload }: BenchTask): Promise<void> => {
  await pool.query({
    name: 'insert-one',
    text: 'insert into floor_task (id, target, payload) values ($1, $2, $3)',
    values: [id, target, JSON.stringify(payload)],
  });
};

export interface ClaimedRow {
  id: string;
  target: string;
  payload: unknown;
}

/** One target's oldest tasks. */
export const claimTarget = async (pool: pg.Pool, target: string, limit: number): Promise<ClaimedRow[]> => {
  const { rows } = await pool.query<ClaimedRow>({
    name: 'claim-target',
    text: `
update floor_task set state = 1 where ctid = any (array(
  select ctid from floor_task where target = $1 and state = 0 order by seq limit $2 for update skip locked)) returning id, target, payload`,
    values: [target, limit],
  });
  return rows;
};

/** The same for many targets in one statement. */
export const claimTargets = async (
  pool: pg.Pool,
  targets: readonly string[],
  limits: readonly number[],
): Promise<ClaimedRow[]> => {
  const { rows } = await pool.query<ClaimedRow>({
    name: 'claim-targets',
    text: `
update floor_task set state = 1 where ctid = any (array(
  select f.ctid from unnest($1::text[], $2::int[]) t (target, n) cross join lateral (
    select ctid from floor_task f where f.target = t.target and state = 0 order by seq limit t.n for update skip locked) f)) returning id, target, payload`,
    values: [targets, limits],
  });
  return rows;
};

export const complete = async (pool: pg.Pool, answers: readonly ItemAnswer[]): Promise<void> => {
  await pool.query({
    name: 'complete',
    text: `
update floor_task t set state = 2, finished_at = clock_timestamp(), result = u.result::json
from unnest($1::text[], $2::text[]) u (id, result) where t.id = u.id`,
    values: [answers.map(({ id }) => id), answers.map(({ ref }) => JSON.stringify({ ref }))],
  });
};

/**
 * The live poller's look: targets with a full batch, or whose oldest task has waited the linger.
 */
export const findDue = async (
  pool: pg.Pool,
  maxItems: number,
  lingerMs: number,
): Promise<{ target: string; n: number; expired: boolean }[]> => {
  const { rows } = await pool.query<{ target: string; n: number; expired: boolean }>({
    name: 'find-due',
    text: `
select target, count(*)::int n, min(created_at) <= clock_timestamp() - $2 * interval '1 ms' as expired from floor_task where state = 0 group by target
having count(*) >= $1 or min(created_at) <= clock_timestamp() - $2 * interval '1 ms'`,
    values: [maxItems, lingerMs],
  });
  return rows;
};

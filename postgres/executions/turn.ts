import type { ItemCounts } from '../../workflows/planning/executions/states';
import type { Queryable } from '../pool';

/**
 * A turn of an execution's workflow: one transaction, guarded by (run, turn) as a leader's, so that
 * a repeated turn writes nothing.
 */

export interface ExecutionFacts {
  state: number;
  functionId: string;
  topic: string | null;
  config: Record<string, unknown>;
  counts: ItemCounts;
  items: number;
  round: number;
  epoch: number;
}

const FACTS = `e.state, e.function_id as "functionId", e.topic, e.config, e.items, e.round, e.epoch,
  json_build_object('created', e.n_created,
  'inProgress', e.n_running, 'done', e.n_done, 'failed', e.n_failed, 'permanentlyFailed', e.n_dead) as counts`;

/**
 * Takes the turn: from now on the execution belongs to this run (a later run raises the epoch), and
 * this turn is its last. Locks the row to the end of the transaction. Null: another run has it, or
 * the turn was taken before; `readExecution` says which.
 */
export const takeTurn = async (
  db: Queryable,
  executionId: string,
  run: { id: string; startedAtMs: number; turn: number },
  operatorLimit: number,
): Promise<ExecutionFacts | null> => {
  const { rows } = await db.query<ExecutionFacts>({
    name: 'take-execution-turn',
    text: `
update execution e set run = $2, run_started_at = to_timestamp($3::float8 / 1000), turn = $4, woken_at = null,
  epoch = e.epoch + (e.run is distinct from $2)::int,
  attempts_limit = case when e.max_attempts = 0 then $5 else least(e.max_attempts, $5) end
where e.id = $1 and e.state in (0 /* created */, 1 /* in progress */) and (e.run = $2 and e.turn < $4
  or e.run is distinct from $2 and coalesce(e.run_started_at, '-infinity') <= to_timestamp($3::float8 / 1000))
returning ${FACTS}`,
    values: [executionId, run.id, run.startedAtMs, run.turn, operatorLimit],
  });
  return rows[0] ?? null;
};

/** Reads the turn without taking anything. Null: there is no such execution. */
export const readTurn = async (
  db: Queryable,
  executionId: string,
): Promise<(ExecutionFacts & { run: string | null }) | null> => {
  const { rows } = await db.query<ExecutionFacts & { run: string | null }>({
    name: 'read-execution-turn',
    text: `select ${FACTS}, e.run from execution e where e.id = $1`,
    values: [executionId],
  });
  return rows[0] ?? null;
};

/** Inserts the chunks of a new round, one per node, still empty. In a turn's transaction. */
export const insertChunks = async (
  db: Queryable,
  executionId: string,
  round: number,
  epoch: number,
  chunks: readonly { id: string; node: string }[],
): Promise<void> => {
  await db.query({
    name: 'insert-chunks',
    text: `
with e as (
  update execution set round = $2, state = 1 /* in progress */, started_at = coalesce(started_at, clock())
  where id = $1)
insert into chunk (id, execution_id, round, place, epoch, node_id, created_at)
select u.id, $1, $2, u.i - 1, $3, u.node, clock()
from unnest($4::uuid[], $5::text[]) with ordinality u (id, node, i)`,
    values: [executionId, round, epoch, chunks.map(({ id }) => id), chunks.map(({ node }) => node)],
  });
};

/**
 * Hands the next pending items, at most 10,000 from a position on, to the chunks of a round that is
 * being filled: item i of the round goes to chunk i mod n. In a turn's transaction. Returns how
 * many, and the last position.
 */
export const fillChunks = async (
  db: Queryable,
  executionId: string,
  round: number,
  after: number,
): Promise<{ n: number; last: number | null }> => {
  const { rows } = await db.query<{ n: number; last: number | null }>({
    name: 'fill-chunks',
    text: `
with c as (
  select array_agg(id order by place) as ids, sum(n)::int as given
  from chunk
  where execution_id = $1 and round = $2 and state = 2 /* filling */),
todo as (
  select ctid as at, position, state
  from work_item
  where execution_id = $1 and state in (0 /* created */, -1 /* failed */) and position > $3
  order by position limit 10000),
numbered as (
  select at, position, state, c.given + row_number() over (order by position) - 1 as i
  from todo cross join c),
w as (
  update work_item k set state = 1 /* in progress */, chunk_id = c.ids[m.i % cardinality(c.ids) + 1]
  from numbered m, c
  where k.ctid = m.at and k.execution_id = $1 and k.state in (0 /* created */, -1 /* failed */)
  returning k.chunk_id, k.position),
per as (select chunk_id, count(*)::int as n from w group by 1),
u as (
  update chunk k set n = k.n + per.n, n_open = k.n_open + per.n
  from per
  where k.id = per.chunk_id),
t as (
  select count(*)::int as n, (count(*) filter (where state = 0 /* ready */))::int as created, max(position) as last
  from numbered),
e as (
  update execution x set n_created = x.n_created - t.created, n_failed = x.n_failed - (t.n - t.created),
    n_running = x.n_running + t.n
  from t
  where x.id = $1)
select n, last
from t`,
    values: [executionId, round, after],
  });
  return rows[0]!;
};

/** Ends the filling of a round: its chunks may be taken. Deletes chunks that got no item. */
export const readyChunks = async (db: Queryable, executionId: string, round: number): Promise<void> => {
  await db.query({
    name: 'ready-chunks',
    text: `
with empty as (
  delete from chunk
  where execution_id = $1 and round = $2 and state = 2 /* filling */ and n = 0)
update chunk set state = 0 /* ready */
where execution_id = $1 and round = $2 and state = 2 /* filling */ and n > 0`,
    values: [executionId, round],
  });
};

/**
 * Publishes what the workflow waits for, and when the sweeper is to wake it if it has not taken a
 * turn by then.
 */
export const publishExecution = async (
  db: Queryable,
  executionId: string,
  published: { wantsNodes: boolean; note: string | null; resumeInMs: number },
): Promise<void> => {
  await db.query({
    name: 'publish-execution',
    text: `
update execution set wants_nodes = $2, note = $3, resume_at = clock() + $4 * interval '1 ms'
where id = $1 and state in (0 /* created */, 1 /* in progress */)`,
    values: [executionId, published.wantsNodes, published.note, published.resumeInMs],
  });
};

import { randomBytes } from 'node:crypto';
import { defineHandler } from '../../handlers';
import type { Handler, HandlerOptions } from '../../handlers';
import type { Client } from '../../client';
import { createClient } from '../../client';
import type { Pool } from '../../postgres/pool';
import type { TestDatabase } from '../helpers/database';
import { createDatabase, NO_TEMPORAL, temporalAddress } from '../helpers/database';

/** A store with a client and no worker: nothing moves but by the test's own hand. */
export interface Shop {
  database: TestDatabase;
  pool: Pool;
  client: Client;
  handler: Handler;
  stop(): Promise<void>;
}

export interface Item {
  to: string;
  key?: string;
  note?: string;
}

export const itemHandler = (options: Partial<HandlerOptions<Item>> = {}): Handler =>
  defineHandler<Item>({
    name: 'items',
    target: (item) => item.to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 60_000 },
    leaders: 1,
    submit: async (batch) => ({ results: batch.tasks.map((task) => ({ id: task.id, status: 'ok' as const })) }),
    ...options,
  });

export const openShop = async (options: Partial<HandlerOptions<Item>> = {}): Promise<Shop> => {
  const database = await createDatabase();
  const handler = itemHandler(options);
  const client = createClient({
    databaseUrl: database.url,
    handlers: [handler],
    prefix: `t-${randomBytes(5).toString('hex')}`,
    temporal: { address: temporalAddress() },
  });
  return {
    database,
    pool: database.pool,
    client,
    handler,
    stop: async () => {
      await client.close();
      await database.drop();
    },
  };
};

/** Opens a client of this store with more handlers. Without Temporal: it wakes nothing. */
export const clientOf = ({ database, handler }: Shop, prefix: string, ...more: Handler[]): Client =>
  createClient({ databaseUrl: database.url, prefix, handlers: [handler, ...more], temporal: NO_TEMPORAL });

export interface CutOptions {
  /** Of the batch: 1 open, 3 unknown, 4 succeeded, 5 failed. */
  state?: number;
  attempt?: number;
  error?: string | null;
  /** `[place, value]` of the members that have one. */
  results?: [number, unknown][];
  /**
   * The dispatch that carries it; an open batch is carried by dispatch 1 of a leader that is at
   * work, unless null is given.
   */
  dispatch?: number | null;
  finishedAgoMs?: number;
}

/**
 * What a claim and the settlement after it would have written: these tasks out of the queue, into a
 * batch of that state.
 */
export const cut = async (pool: Pool, ids: readonly string[], options: CutOptions = {}): Promise<number> => {
  const { state = 1, attempt = state === 1 ? 0 : 1, error = null, finishedAgoMs = 0 } = options;
  const dispatch = options.dispatch === undefined && state === 1 ? 1 : (options.dispatch ?? null);
  const { rows } = await pool.query<{ id: number }>({
    text: `
with t as (select k.*, u.place from unnest($1::text[]) with ordinality u (id, place) join task k on k.id = u.id),
b as (
  insert into batch (target_id, leader_id, epoch, turn, dispatch, state, reason, attempt, counted, n, members, bytes, weight, error, created_at, started_at, finished_at)
  select t.target_id, g.leader_id, 1, 1, $5, $2::smallint, 3, $3::smallint, $3::smallint, count(*), array_agg(t.seq order by t.place), sum(t.bytes), count(*), $4, clock(),
    case when $3::smallint > 0 then clock() end, case when $2::smallint >= 4 then clock() - $6 * interval '1 ms' end
  from t join target g on g.id = t.target_id group by t.target_id, g.leader_id returning id),
q as (delete from queue q using t where q.seq = t.seq and q.target_id = t.target_id),
d as (delete from delayed d using t where d.seq = t.seq),
m as (insert into member (seq, batch_id, attempts) select t.seq, b.id, 0 from t, b)
select id from b`,
    values: [ids, state, attempt, error, dispatch, finishedAgoMs],
  });
  const [batch] = rows;
  if (rows.length !== 1 || batch === undefined)
    throw new Error(`cut: expected tasks of one target, got ${rows.length}`);
  for (const [no, value] of (options.results ?? []).entries())
    await pool.query({
      text: 'insert into result_page (batch_id, attempt, no, first, last, results) values ($1, $2, $3, $4, $4, $5)',
      values: [batch.id, attempt, no, value[0], JSON.stringify([value])],
    });
  if (dispatch !== null) await employ(pool, batch.id, dispatch);
  if (state >= 4)
    await pool.query({
      text: 'delete from busy_key k using member m where m.batch_id = $1 and k.seq = m.seq',
      values: [batch.id],
    });
  return batch.id;
};

/** A leader at work, with this dispatch. */
const employ = async (pool: Pool, batchId: number, dispatch: number): Promise<void> => {
  await pool.query({
    text: `
with l as (update leader l set state = 1, wake_at = null, expires_at = clock() + interval '1 hour' from batch b where b.id = $1 and l.id = b.leader_id returning l.*)
insert into dispatch (leader_id, no, handler_id, slots, started_at, seen_at) select id, $2, handler_id, 1, clock(), clock() from l on conflict do nothing`,
    values: [batchId, dispatch],
  });
};

/** A member with an end of its own, as a settlement writes it. */
export const endAlone = async (pool: Pool, id: string, state: number, error: string | null): Promise<void> => {
  await pool.query({
    text: `
with m as (delete from member where seq = (select seq from task where id = $1) returning *),
b as (update batch b set n_left = b.n_left + 1, state = case when b.n_left + 1 = b.n then 7 else b.state end from m where b.id = m.batch_id)
insert into outcome (seq, target_id, state, attempts, batch_id, error, at)
select k.seq, k.target_id, $2::smallint, m.attempts + 1, m.batch_id, $3, clock() from m join task k using (seq)`,
    values: [id, state, error],
  });
};

export const items = (to: string, ...ids: string[]): { id: string; payload: Item }[] =>
  ids.map((id) => ({ id, payload: { to } }));

/** In which of queue, delayed, held, member and outcome the task is. */
export const placesOf = async (pool: Pool, id: string): Promise<string[]> => {
  const { rows } = await pool.query<{ place: string }>({
    text: `
select p.place from task k join (select seq, 'queue' as place from queue union all select seq, 'delayed' from delayed union all select seq, 'held' from held union all select seq, 'member' from member
  union all select seq, 'outcome' from outcome) p using (seq) where k.id = $1`,
    values: [id],
  });
  return rows.map((row) => row.place);
};

/** The names of the checks that found something. */
export const broken = async (client: Client): Promise<Record<string, object[]>> => {
  const { checks } = await client.verify({ full: true });
  return Object.fromEntries(
    checks.filter((check) => check.violations.length > 0).map((check) => [check.name, check.violations]),
  );
};

/** Returns the id, state and attempts of each task, as one line. */
export const statesOf = async (client: Client, ...ids: string[]): Promise<string[]> =>
  (await client.getTasks(ids)).map((task) => `${task.id} ${task.state} ${task.attempts}`);

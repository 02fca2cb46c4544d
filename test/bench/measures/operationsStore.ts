import type { Pool } from '../../../postgres/pool';

/**
 * Fills an empty store with about `tasks` tasks in every place there is, by SQL alone and whole by
 * every invariant: `bulk` in batches of 50, `single` in batches of one with 20 times the targets,
 * `edits` in lanes. Nothing of it is due, and no worker is there.
 */
export const fillStore = async (pool: Pool, tasks: number): Promise<void> => {
  const client = await pool.connect();
  try {
    await client.query(
      `select set_config('statement_timeout', '20min', false), set_config('enable_seqscan', 'on', false)`,
    );
    for (const [name, targets, maxItems] of [
      ['bulk', 1_000, 50],
      ['single', 20_000, 1],
    ] as const)
      await client.query(
        HANDLER.replaceAll('$name', name)
          .replaceAll('$max', String(maxItems))
          .replaceAll('$targets', String(scaled(tasks, targets))),
      );
    await client.query(LANES.replaceAll('$lanes', String(scaled(tasks, 500))));
    const first = { bulk: 0, single: tasks * 0.4, edits: tasks * 0.8 };
    for (const part of [
      { handler: 'bulk', from: first.bulk, n: tasks * 0.1, into: 'queue', size: 50 },
      { handler: 'bulk', from: tasks * 0.1, n: tasks * 0.01, into: 'delayed', size: 50 },
      { handler: 'bulk', from: tasks * 0.11, n: tasks * 0.29, into: 'batch', size: 50 },
      { handler: 'single', from: first.single, n: tasks * 0.04, into: 'queue', size: 1 },
      { handler: 'single', from: tasks * 0.44, n: tasks * 0.36, into: 'batch', size: 1 },
      { handler: 'edits', from: first.edits, n: tasks * 0.01, into: 'lane_queue', size: 10 },
      { handler: 'edits', from: tasks * 0.81, n: tasks * 0.19, into: 'batch', size: 10 },
    ] as const) {
      const fits = { from: whole(part.from), n: whole(part.n - (part.n % part.size)) };
      await client.query(TASKS, [part.handler, fits.from, fits.n, part.size]);
      await client.query(INTO[part.into], [part.handler, fits.from, fits.n, part.size]);
    }
    for (const text of AFTER) await client.query(text);
    await client.query('vacuum analyze');
  } finally {
    client.release(true);
  }
};

const whole = (n: number): number => Math.round(n);
const scaled = (tasks: number, of: number): number => Math.max(4, Math.round((of * tasks) / 1_000_000));

const HANDLER = `
with h as (insert into handler (name, leaders, max_items, linger_ms, per_target, per_handler, retention_ms, timeout_ms)
  values ('$name', 8, $max, 86400000, 1, 32, 604800000, 30000) returning id),
l as (insert into leader (handler_id, name) select h.id, i::text from h, generate_series(0, 7) i returning id, handler_id, name)
insert into target (handler_id, key, leader_id, due_at)
select l.handler_id, '$name ' || i, l.id, clock() + interval '1 day' from generate_series(0, $targets - 1) i join l on l.name = (i % 8)::text order by i`;

const LANES = `
with h as (insert into handler (name, leaders, max_items, linger_ms, per_target, per_handler, retention_ms, timeout_ms)
  values ('edits', 1, 10, 1000, 1, 32, 604800000, 30000) returning id),
d as (insert into leader (handler_id, name) select id, '0' from h returning id),
l as (insert into lane (service, handler_id, kind, approach, on_invalid) select 'edits ' || i, h.id, 0, 1, 0 from h, generate_series(0, $lanes - 1) i order by i returning *),
s as (insert into lane_state (lane_id, queuer_id, ready) select id, queuer_id, true from l)
insert into target (handler_id, key, leader_id, lane_id) select l.handler_id, l.service, d.id, l.id from l, d order by l.id`;

/**
 * Task i of the store; those of one batch follow each other and share their target. 100 tasks a
 * submit.
 */
const SEQ = '((i / 100 + 1) * 16384 + i % 100)';
const PLACE = `
own as materialized (select t.*, row_number() over (order by t.id) - 1 as place from target t join handler h on h.id = t.handler_id where h.name = $1),
size as materialized (select count(*) as n from own),
numbered as materialized (
  select i::bigint as i, ${SEQ}::bigint as seq, (i - $2::bigint) / $4::int as no, ((i - $2::bigint) / $4::int) % (select n from size) as place
  from generate_series($2::bigint, $2::bigint + $3::bigint - 1) i),
part as (select p.*, t.id as target_id, t.leader_id, t.lane_id, t.handler_id from numbered p join own t using (place))`;

const TASKS = `with ${PLACE}
insert into task (seq, created_at, target_id, bytes, id, payload)
select seq, clock() - interval '1 hour', target_id, 60, 'task-' || i, json_build_object('no', i, 'text', repeat('x', 40)) from part`;

const INTO = {
  queue: `with ${PLACE} insert into queue (target_id, seq, ready_at, bytes) select target_id, seq, clock(), 60 from part`,
  delayed: `with ${PLACE} insert into delayed (target_id, seq, not_before, bytes) select target_id, seq, clock() + interval '1 day', 60 from part`,
  lane_queue: `with ${PLACE} insert into lane_queue (lane_id, seq, target_id, ready_at, bytes) select lane_id, seq, target_id, clock(), 60 from part`,
  /** All succeeded; the last 100 of a hundred are open and wait for their retry. */
  batch: `with ${PLACE},
cut as (select no, min(target_id) as target_id, min(leader_id) as leader_id, min(lane_id) as lane_id, min(handler_id) as handler_id, array_agg(seq order by seq) as members,
  no >= ($3::bigint / $4::int) * 0.99 and min(lane_id) is null as open from part group by no),
formed as (
  insert into batch (target_id, leader_id, epoch, turn, state, reason, attempt, counted, n, members, bytes, weight, created_at, retry_at, started_at, finished_at)
  select target_id, case when lane_id is null then leader_id else 0 end, 1, 1, case when open then 1 else 4 end, 0, case when open then 0 else 1 end, case when open then 0 else 1 end,
    cardinality(members), members, 60 * cardinality(members), cardinality(members), clock() - interval '1 hour',
    case when open then clock() + interval '2 day' end, case when not open then ended end,
    case when not open then ended end
  from cut cross join lateral (select clock() - (100000000 - no) * interval '1 ms') e (ended) order by no returning id, members)
insert into member (seq, batch_id, attempts) select u.seq, f.id, 0 from formed f cross join lateral unnest(f.members) u (seq)`,
} as const;

const AFTER = [
  // One in a hundred of the succeeded in batches of 50 has an end of its own.
  `with gone as (delete from member m using batch b, target t, handler h
    where b.id = m.batch_id and b.state = 4 and b.n = 50 and m.seq = b.members[1] and b.id % 2 = 0 and t.id = b.target_id and h.id = t.handler_id returning m.seq, b.id, b.target_id),
  less as (update batch set n_left = 1 from gone where batch.id = gone.id)
  insert into outcome (seq, target_id, state, attempts, batch_id, error, at) select seq, target_id, 5, 1, id, 'refused', clock() from gone`,
  `insert into lane_batch (batch_id, lane_id, target_id, seq, status, handler_id, changed_at, weight, reads, writes)
  select b.id, t.lane_id, t.id, b.members[1], 10, t.handler_id, clock(), 1, '{}', '{}' from batch b join target t on t.id = b.target_id where b.leader_id = 0`,
  `insert into result_page (batch_id, attempt, no, first, last, results) select id, 1, 0, 0, 0, '[[0, "x"]]' from batch where state = 4 and n > 1`,
  `select setval('submit_seq', (select max(seq) / 16384 from task))`,
];

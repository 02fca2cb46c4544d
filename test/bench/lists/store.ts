import type { Client, Pool } from '../../../postgres/pool';

/**
 * Fills an empty store as life does, by SQL alone and whole by every invariant: tasks are accepted
 * over six days, most of them succeeded, one in a hundred failed, the newest wait (one in twenty),
 * and a few of the oldest still do. `orders` go in batches of 50, `mails` in batches of 10, `edits`
 * through lanes. The numbers of targets are the same at any size; `fewer` divides them.
 */
export const fillStore = async (
  pool: Pool,
  tasks: number,
  { log = () => undefined, fewer = 1 }: { log?: (line: string) => void; fewer?: number } = {},
): Promise<void> => {
  const client = await pool.connect();
  try {
    await client.query(`select set_config('statement_timeout', '20min', false), set_config('jit', 'off', false)`);
    for (const { name, targets, size } of HANDLERS) await client.query(HANDLER, [name, targets / fewer, size]);
    await client.query(LANES, [TARGETS.edits / fewer]);
    const chunk = Math.min(10_000, Math.floor(tasks / 10 / BATCH) * BATCH);
    for (let from = 0; from + chunk <= tasks; from += chunk) {
      await fillChunk(client, { from, chunk, tasks });
      if ((from + chunk) % 1_000_000 === 0) log(`${(from + chunk).toLocaleString('en-US')} tasks`);
    }
    for (const text of AFTER) await client.query(text);
    await client.query('vacuum analyze');
  } finally {
    client.release(true);
  }
};

/** What a full batch of the largest handler has, so that a chunk has whole batches only. */
const BATCH = 1_000;
const TARGETS = { orders: 2_000, mails: 20_000, edits: 500 } as const;
const HANDLERS = [
  { name: 'orders', targets: TARGETS.orders, size: 50, share: 0.6 },
  { name: 'mails', targets: TARGETS.mails, size: 10, share: 0.3 },
  { name: 'edits', targets: 0, size: 10, share: 0.1 },
] as const;
const WAITING = 0.05;

interface Chunk {
  from: number;
  chunk: number;
  tasks: number;
}

/** The tasks of each handler follow each other within the chunk. */
const fillChunk = async (client: Client, { from, chunk, tasks }: Chunk): Promise<void> => {
  let first = from;
  for (const { name, size, share } of HANDLERS) {
    const n = Math.round(chunk * share);
    const ended = Math.round(n * Math.min(1, Math.max(0, (tasks * (1 - WAITING) - from) / chunk)));
    const cut = Math.floor(ended / size) * size;
    const place = { name, size, tasks };
    if (cut > 0) await fill(client, { ...place, from: first, n: cut }, name === 'edits' ? ENDED_IN_LANES : ENDED);
    if (n > cut) await fill(client, { ...place, from: first + cut, n: n - cut }, WAITS[name]);
    first += n;
  }
  // A few that nobody serves any more.
  if (from === 0) await client.query(STARVED);
};

interface Part {
  name: (typeof HANDLERS)[number]['name'];
  size: number;
  tasks: number;
  from: number;
  n: number;
}
const fill = async (client: Client, { name, from, n, size, tasks }: Part, into: readonly string[]): Promise<void> => {
  const values = [name, from, n, size, tasks];
  for (const text of [TASKS, LABELS, TAGS, ...into]) await client.query(`with ${PLACE}${text}`, values);
};

const HANDLER = `
with h as (insert into handler (name, leaders, max_items, linger_ms, per_target, per_handler, retention_ms, timeout_ms)
  values ($1, 8, $3::int, 86400000, 1, 32, 604800000, 30000) returning id),
l as (insert into leader (handler_id, name) select h.id, i::text from h, generate_series(0, 7) i
  returning id, handler_id, name)
insert into target (handler_id, key, leader_id)
select l.handler_id, $1 || ' ' || i, l.id
from generate_series(0, $2::int - 1) i join l on l.name = (i % 8)::text order by i`;

const LANES = `
with h as (update handler set ordered = true where name = 'edits' returning id),
l as (insert into lane (service, handler_id, kind, approach, on_invalid)
  select 'edits ' || i, h.id, 0, 1, 0 from h, generate_series(0, $1::int - 1) i order by i returning *),
s as (insert into lane_state (lane_id, queuer_id, ready) select id, queuer_id, true from l)
insert into target (handler_id, key, leader_id, lane_id)
select l.handler_id, l.service, d.id, l.id from l join leader d on d.handler_id = l.handler_id and d.name = '0'
order by l.id`;

/** 100 tasks per submit. Batches take turns over the targets; a task is accepted at its time. */
const PLACE = `
own as materialized (
  select t.*, row_number() over (order by t.id) - 1 as place
  from target t join handler h on h.id = t.handler_id where h.name = $1),
size as materialized (select count(*) as n from own),
numbered as materialized (
  select i::bigint as i, ((i / 100 + 1) * 16384 + i % 100)::bigint as seq, i / $4::int as no,
    (i / $4::int * 7919) % (select n from size) as place,
    clock() - ($5::bigint - i)::float8 / $5::bigint * interval '6 days' as at
  from generate_series($2::bigint, $2::bigint + $3::bigint - 1) i),
part as materialized (
  select p.*, t.id as target_id, t.leader_id, t.lane_id, t.handler_id from numbered p join own t using (place))`;

const TASKS = `
insert into task (seq, created_at, target_id, bytes, id, payload)
select seq, at, target_id, 60, 'task-' || i, json_build_object('no', i, 'text', repeat('x', 40)) from part`;

/** Each thousand of tasks is a run, one in ten of them is labelled; few are of a rare tag. */
const LABELLED = `
labelled as (
  select seq, handler_id, array['run-' || i / 1000] || case when i % 1000 = 0 then array['vip'] end as tags
  from part where i % 10 = 0)`;
const LABELS = `,${LABELLED}
insert into task_label (seq, handler_id, tags) select seq, handler_id, tags from labelled`;
const TAGS = `,${LABELLED}
insert into task_tag (tag, handler_id, seq)
select u.tag, l.handler_id, l.seq from labelled l cross join lateral unnest(l.tags) u (tag)`;

const ERROR = `'HTTP 50' || (no % 10) || ' for order ' || no`;

/** One batch in 200 failed as a whole; one task in 200 of those that succeeded failed alone. */
const ENDED = [
  `,
cut as (
  select no, min(at) as at, min(target_id) as target_id, min(leader_id) as leader_id,
    array_agg(seq order by seq) as members, no % 200 = 7 as failed, no % greatest(2, 200 / $4::int) = 1 as lost
  from part group by no),
formed as (
  insert into batch (target_id, leader_id, epoch, turn, state, reason, attempt, counted, n, n_left, members, bytes,
    weight, error, created_at, started_at, finished_at)
  select target_id, leader_id, 1, 1, case when failed then 5 else 4 end, 0, 1, 1, cardinality(members),
    (lost and not failed)::int, members, 60 * cardinality(members), cardinality(members),
    case when failed then ${ERROR} end, at, at + interval '1 s', at + interval '2 s'
  from cut order by no
  returning id, target_id, members, n_left, finished_at),
alone as (
  insert into outcome (seq, target_id, state, attempts, batch_id, error, at)
  select members[1], target_id, 5, 1, id, 'refused: no such order ' || id, finished_at
  from formed where n_left = 1),
told as (
  insert into result_page (batch_id, attempt, no, first, last, results)
  select id, 1, 0, 0, 0, '[[0, "x"]]' from formed)
insert into member (seq, batch_id, attempts)
select u.seq, f.id, 0
from formed f cross join lateral unnest(f.members) with ordinality u (seq, place) where u.place > f.n_left`,
];

const ENDED_IN_LANES = [
  `,
cut as (
  select no, min(at) as at, min(target_id) as target_id, min(lane_id) as lane_id, min(handler_id) as handler_id,
    array_agg(seq order by seq) as members
  from part group by no),
formed as (
  insert into batch (target_id, leader_id, epoch, turn, state, reason, attempt, counted, n, members, bytes, weight,
    created_at, started_at, finished_at)
  select target_id, 0, 1, 1, 4, 0, 1, 1, cardinality(members), members, 60 * cardinality(members),
    cardinality(members), at, at + interval '1 s', at + interval '2 s'
  from cut order by no returning id, target_id, members),
stood as (
  insert into lane_batch (batch_id, lane_id, target_id, seq, status, handler_id, changed_at, weight, reads, writes)
  select f.id, t.lane_id, t.id, f.members[1], 10, t.handler_id, clock(), 1, '{}', '{}'
  from formed f join own t on t.id = f.target_id)
insert into member (seq, batch_id, attempts)
select u.seq, f.id, 0 from formed f cross join lateral unnest(f.members) u (seq)`,
];

/** One in a hundred of those that wait failed once and waits for another attempt. */
const QUEUED = [
  `
insert into queue (target_id, seq, ready_at, bytes) select target_id, seq, at, 60 from part where i % 100 <> 0`,
  `
insert into delayed (target_id, seq, not_before, bytes, attempts, error, failed_at)
select target_id, seq, clock() + interval '1 day', 60, 1, ${ERROR}, at from part where i % 100 = 0`,
];
const WAITS: Readonly<Record<Part['name'], readonly string[]>> = {
  orders: QUEUED,
  mails: QUEUED,
  edits: [
    `
insert into lane_queue (lane_id, seq, target_id, ready_at, bytes)
select lane_id, seq, target_id, at, 60 from part`,
  ],
};

/** The first tasks of ten batches that never went. */
const STARVED = `
with gone as (
  delete from batch b using handler h, target t
  where h.name = 'mails' and t.handler_id = h.id and b.target_id = t.id and b.n_left = 0
    and b.id in (select b.id from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
      where h.name = 'mails' and b.n_left = 0 order by b.id limit 10)
  returning b.id, b.target_id, b.members),
out as (delete from member m using gone g where m.batch_id = g.id),
told as (delete from result_page p using gone g where p.batch_id = g.id)
insert into queue (target_id, seq, ready_at, bytes)
select g.target_id, u.seq, clock() - interval '5 days', 60 from gone g cross join lateral unnest(g.members) u (seq)`;

const OF_TARGET = `(select t.due_at from target t where t.id = b.target_id) is not null`;
const AFTER = [
  `update target t set due_at = clock() + interval '1 day'
  where lane_id is null and (exists (select from queue q where q.target_id = t.id)
    or exists (select from delayed d where d.target_id = t.id))`,
  // The last 50 of the batches of orders that failed are not known, and 50 others go again.
  `update batch b set state = 3, finished_at = null, error = 'The answer was lost', attempt_until = null
  where id in (select b.id from batch b where b.state = 5 and ${OF_TARGET} order by b.id desc limit 50)`,
  `update batch b set state = 1, finished_at = null, retry_at = clock() + interval '1 day', attempt = 0, counted = 0,
    started_at = null
  where id in (select b.id from batch b where b.state = 5 and ${OF_TARGET} order by b.id desc limit 50)`,
  // One batch of mails in ten told its end, one in a thousand could not.
  `with r as (insert into recipient (kind, address, used_at)
    values ('webhook', '{"url": "https://example.com/hook"}', clock()) returning id)
  insert into notification (batch_id, attempt, recipient_id, body, attempts, next_at, done_at, error, created_at)
  select b.id, 1, r.id, '{}', 1, clock() + interval '1 day', case when b.id % 20 <> 1 then b.finished_at end,
    case when b.id % 1000 in (1, 10) then 'HTTP 410 of the receiver' end, b.finished_at
  from r, batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id
  where h.name = 'mails' and b.finished_at is not null and b.id % 10 < 2 and (b.id % 10 = 0 or b.id % 1000 = 1)`,
  `select setval('submit_seq', (select max(seq) / 16384 from task))`,
];

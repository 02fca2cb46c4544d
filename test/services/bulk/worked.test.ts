import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import type { World } from '../../cli/world';
import { createWorld, order } from '../../cli/world';
import { NO_TEMPORAL } from '../../helpers/database';

/** Bulk actions, made by real worker processes. @slow */

const TASKS = 12_000;
let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const fill = async (): Promise<void> => {
  for (let from = 0; from < TASKS; from += 4_000)
    await world.submit(
      'slow',
      ...Array.from({ length: 4_000 }, (_, i) => order(`t${from + i}`, `c${Math.floor((from + i) / 1_000)}`)),
    );
  // As a downstream that refused all of them would have left them, half of them beside others.
  // Locked first: it and what the worker writes beside it could otherwise wait for each other.
  await world.database.pool.query(`
lock table queue in share row exclusive mode;
with b as (
  insert into batch (target_id, leader_id, epoch, turn, state, reason, attempt, counted, n, members, bytes, weight,
    error, created_at, started_at, finished_at)
  select q.target_id, t.leader_id, 1, 1, 5, 0, 1, 1, count(*), array_agg(q.seq order by q.seq), 1, 1, 'HTTP 503',
    clock(), clock(), clock()
  from (select *, seq % 20 as part from queue) q join target t on t.id = q.target_id
  group by q.target_id, t.leader_id, q.part returning id, members)
insert into member (seq, batch_id, attempts) select u.seq, b.id, 0 from b, unnest(b.members) u (seq);
delete from queue;
create table moved (seq bigint, at timestamptz default now());
create function note_move() returns trigger language plpgsql as $$
begin insert into moved values (new.seq); return null; end $$;
create trigger note_move after insert on queue for each row execute function note_move()`);
};

const connect = (): Client =>
  createClient({ databaseUrl: world.database.url, prefix: world.env['MUSTER_PREFIX']!, temporal: NO_TEMPORAL });

/** Payloads that the trigger saw change, and of how many tasks. */
const COUNT_CHANGES = `
create table repaid (seq bigint);
create function note_change() returns trigger language plpgsql as $$
begin insert into repaid values (new.seq); return null; end $$;
create trigger note_change after update of payload on task for each row execute function note_change()`;

test('a SIGKILL amid a change of payloads: each task has the old or the new one, and gets it once', async () => {
  const n = 2_000;
  const { pool } = world.database;
  const client = connect();
  try {
    const first = await world.worker();
    await client.pause('orders');
    await world.submit('orders', ...Array.from({ length: n }, (_, i) => order(`p${i}`, `c${i % 7}`)));
    await pool.query(COUNT_CHANGES);
    const action = { do: 'update', payloadPatch: { n: 12_345 } } as const;
    const { id } = await client.bulk.start({ handler: 'orders', action });
    await eventually(async () => (await client.bulk.get(id))!.done > 0, { everyMs: 2 });
    first.child.kill('SIGKILL');
    await first.exit;
    const left = (await client.bulk.get(id))!;
    expect(left.state).toBe('working');
    const { rows: torn } = await pool.query<{ changed: number; torn: number }>(`
select count(*) filter (where k.payload->>'n' = '12345') as changed,
  count(*) filter (where octet_length(k.payload::text) <> k.bytes or q.bytes <> k.bytes) as torn
from task k join queue q on q.target_id = k.target_id and q.priority = k.priority and q.seq = k.seq`);
    expect(torn).toEqual([{ changed: left.done, torn: 0 }]);
    expect(left.done).toBeLessThan(n);
    const second = await world.worker();
    await eventually(async () => (await client.bulk.get(id))!.state === 'done');
    expect(await client.bulk.get(id)).toMatchObject({ total: n, done: n, skipped: 0, failed: 0 });
    const { rows } = await pool.query('select count(*) as n, count(distinct seq) as tasks from repaid');
    expect(rows).toEqual([{ n, tasks: n }]);
    await pool.query('drop trigger note_change on task; drop function note_change(); drop table repaid');
    await expectWhole(client);
    await client.resume('orders');
    const ids = Array.from({ length: n }, (_, i) => `p${i}`);
    await client.waitFor(ids, { timeoutMs: 60_000 });
    const tasks = await client.getTasks(ids.slice(0, 1_000));
    expect(new Set(tasks.map(({ result }) => JSON.stringify(result)))).toEqual(new Set(['{"double":24690}']));
    second.child.kill('SIGTERM');
    await second.exit;
  } finally {
    await client.close();
  }
});

test('a SIGKILL of the worker in the middle: another one goes on, and no task is changed twice', async () => {
  const client = connect();
  try {
    const first = await world.worker();
    await client.pause('slow'); // or it might claim what is to be failed
    await fill();
    const { id } = await client.bulk.start({
      handler: 'slow',
      where: { state: 'failed', errorCode: '503' },
      action: { do: 'redrive' },
    });
    const view = await eventually(
      async () => {
        const found = (await client.bulk.get(id))!;
        return found.done > 0 && found;
      },
      { everyMs: 2 },
    );
    first.child.kill('SIGKILL');
    await first.exit;
    expect(view.state).toBe('working');
    const left = (await client.bulk.get(id))!;
    expect(left.state).toBe('working');
    expect(left.done).toBeLessThan(TASKS);
    const second = await world.worker();
    const ended = await eventually(async () => {
      const found = (await client.bulk.get(id))!;
      return found.state === 'done' && found;
    });
    expect(ended).toMatchObject({ total: TASKS, done: TASKS, skipped: 0, failed: 0 });
    const { rows } = await world.database.pool.query<{ n: number; tasks: number }>(
      'select count(*) as n, count(distinct seq) as tasks from moved',
    );
    expect(rows).toEqual([{ n: TASKS, tasks: TASKS }]);
    await world.database.pool.query('drop trigger note_move on queue; drop function note_move(); drop table moved');
    await expectWhole(client);
    // What was sent again is sent, once nothing holds it back.
    await client.resume('slow');
    await client.flush('slow');
    await eventually(async () => (await client.getTask('t0'))!.state === 'succeeded');
    second.child.kill('SIGTERM');
    await second.exit;
  } finally {
    await client.close();
  }
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { leaderIndex } from '../../../workflows/planning/grouping/hash';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import { ROOT } from '../../project/project';
import type { SqlShop } from './shop';
import { openSqlShop, refusal } from './shop';

/** `submit` of the database: what it accepts, in whose transaction, and how often. */

let shop: SqlShop;
beforeAll(async () => {
  shop = await openSqlShop();
});
afterAll(() => shop.stop());
const ids = async (prefix: string): Promise<unknown[]> =>
  (await shop.sql(`select id from task where starts_with(id, $1) order by id`, [prefix])).map(({ id }) => id);
const call = `select submit('orders', $1, $2, $3) as new`;

test('a task that is submitted by plain SQL is as the client submits it', async () => {
  const at = '2099-05-01T00:00:00Z';
  expect(await shop.sql(call, ['plain-1', { customer: 'ada', total: 1 }, 'ada'])).toEqual([{ new: true }]);
  await shop.sql(
    `select submit(handler => 'small', id => 'plain-2', payload => '{"customer": "bob", "total": 7}', target => 'bob',
       not_before => $1, priority => -3, weight => 2.5, bytes => 11, distinct_key => '7')`,
    [at],
  );
  expect(await shop.client.getTasks(['plain-1', 'plain-2'])).toMatchObject([
    { state: 'created', target: 'ada', payload: { customer: 'ada', total: 1 } },
    { state: 'created', target: 'bob', payload: { customer: 'bob', total: 7 } },
  ]);
  expect(
    await shop.sql(`select d.not_before, d.priority, d.weight, d.bytes, d.key from delayed d join task k using (seq)
      where k.id = 'plain-2'`),
  ).toEqual([{ not_before: new Date(at), priority: -3, weight: 2.5, bytes: 11, key: '7' }]);
  expect(
    await shop.sql(`select q.weight, k.weight as own, k.bytes from queue q join task k using (seq)
    where k.id = 'plain-1'`),
  ).toEqual([{ weight: null, own: null, bytes: 31 }]);
});

test('a trigger submits with the row: both exist, or neither', async () => {
  await shop.sql('create table public.purchase (id text, customer text, total int)');
  await shop.sql(`create function public.send_purchase() returns trigger language plpgsql as $$
    begin
      perform muster.submit('orders', 'trigger-' || new.id,
        jsonb_build_object('customer', new.customer, 'total', new.total), new.customer);
      return null;
    end $$`);
  await shop.sql(
    `create trigger send after insert on public.purchase for each row execute function public.send_purchase()`,
  );
  // A session as any program has it: Muster's schema is not on its path.
  const theirs = new pg.Client({ connectionString: shop.database.url.split('?')[0]! });
  await theirs.connect();
  try {
    await theirs.query('begin');
    await theirs.query(`insert into public.purchase values ('1', 'ada', 5)`);
    expect((await theirs.query(`select count(*)::int as n from muster.task where id = 'trigger-1'`)).rows).toEqual([
      { n: 1 },
    ]);
    await theirs.query('rollback');
    await theirs.query(`create temporary table task (id text)`); // shadows nothing
    await theirs.query(`insert into public.purchase values ('2', 'ada', 5), ('3', 'new-customer', 6)`);
  } finally {
    await theirs.end();
  }
  expect(await ids('trigger-')).toEqual(['trigger-2', 'trigger-3']);
  expect(await shop.sql('select id from public.purchase order by id')).toEqual([{ id: '2' }, { id: '3' }]);
});

test('a rollback leaves neither a task nor its new target and leader', async () => {
  const client = await shop.database.pool.connect();
  await client.query('begin');
  await client.query(`select submit('per-target', 'rolled-1', '{}', 'never')`);
  await client.query('rollback');
  client.release();
  expect(await ids('rolled-')).toEqual([]);
  expect(
    await shop.sql(`select key from target where key = 'never' union all select name from leader where name = 'never'`),
  ).toEqual([]);
});

test('the same id with the same payload is the same task, whoever repeats it', async () => {
  const payload = { total: 3, customer: 'ada' };
  expect(await shop.sql(call, ['again-1', payload, 'ada'])).toEqual([{ new: true }]);
  expect(await shop.sql(call, ['again-1', { customer: 'ada', total: 3 }, 'ada'])).toEqual([{ new: false }]);
  expect(await shop.client.submit('orders', { id: 'again-1', payload })).toMatchObject({ accepted: 0, repeated: 1 });
  await shop.client.submit('orders', { id: 'again-2', payload });
  expect(await shop.sql(call, ['again-2', payload, 'ada'])).toEqual([{ new: false }]);
  expect(await refusal(shop.sql(call, ['again-1', { customer: 'ada', total: 4 }, 'ada']))).toEqual({
    code: '23505',
    message: 'Cannot submit the task: id: expected an unused one, but a task with another payload has "again-1".',
    detail: 'ID_CONFLICT',
    hint: 'Choose another id. Repeating the same content is harmless.',
  });
  await expect(
    shop.client.submit('orders', { id: 'again-1', payload: { ...payload, total: 9 } }),
  ).rejects.toMatchObject({
    problems: [{ code: 'ID_CONFLICT' }],
  });
});

test('of two transactions that submit one id at once, one is told that it is new', async () => {
  const [first, second] = [await shop.database.pool.connect(), await shop.database.pool.connect()];
  const submit = `select submit('orders', 'twice', '{"customer": "ada", "total": 1}', 'ada') as new`;
  try {
    await first.query('begin');
    await first.query(submit);
    const waiting = second.query<{ new: boolean }>(submit);
    await eventually(
      async () =>
        (
          await shop.sql(`select from pg_stat_activity where wait_event_type = 'Lock'
      and query like '%twice%' and datname = current_database()`)
        ).length === 1,
    );
    await first.query('commit');
    expect((await waiting).rows).toEqual([{ new: false }]);
  } finally {
    for (const client of [first, second]) client.release(true);
  }
  expect(await ids('twice')).toEqual(['twice']);
});

test('1,000 tasks are submitted in one statement, and a repeat of it submits none', async () => {
  const many = `
    select count(*) filter (where submit('orders', 'many-' || i,
      jsonb_build_object('customer', 'c' || i % 7, 'total', i), 'c' || i % 7))::int as n
    from generate_series(1, 1000) i`;
  expect(await shop.sql(many)).toEqual([{ n: 1000 }]);
  expect(await shop.sql(many)).toEqual([{ n: 0 }]);
  expect((await ids('many-')).length).toBe(1000);
});

test('a target has the leader that the client would have given it', async () => {
  const keys = [
    '',
    'a',
    'ada',
    'Ystad',
    'Malmö',
    '🦉',
    'x'.repeat(512),
    '\u00ff\u0100',
    ...Array.from({ length: 300 }, (_, i) => `key-${i * 7919}`),
  ];
  const n = [1, 2, 4, 7, 1024];
  const rows = await shop.sql(
    'select k.key, n.n, leader_index(k.key, n.n) as leads from unnest($1::text[]) k (key), unnest($2::int[]) n (n)',
    [keys, n],
  );
  expect(rows.length).toBe(keys.length * n.length);
  for (const { key, n: of, leads } of rows)
    expect([key, of, leads]).toEqual([key, of, leaderIndex(String(key), Number(of))]);
  await shop.sql(`select submit('orders', 'leads-1', '{}', 'Lund'), submit('per-target', 'leads-2', '{}', 'Lund')`);
  expect(
    await shop.sql(`select h.name as handler, l.name as leader from target t join leader l on l.id = t.leader_id
      join handler h on h.id = t.handler_id where t.key = 'Lund' order by 1`),
  ).toEqual([
    { handler: 'orders', leader: String(leaderIndex('Lund', 2)) },
    { handler: 'per-target', leader: 'Lund' },
  ]);
});

test('a role that may only call it submits, and reads and writes nothing', async () => {
  const role = `caller_${shop.database.name}`;
  await shop.sql(`create role ${role}`);
  const session = await shop.database.pool.connect();
  const attempt = async (text: string) => {
    await session.query('begin');
    await session.query(`set local role ${role}`);
    return session.query(text).finally(() => session.query('rollback'));
  };
  const submit = `select muster.submit('orders', 'role-1', '{"customer": "ada", "total": 1}', 'ada'),
    muster.submit('orders', 'role-2', '{}', 'ada', depends_on => '{role-1}',
      callback => '{"url": "https://a.example"}')`;
  try {
    expect(await refusal(attempt(submit))).toMatchObject({ code: '42501' });
    await shop.sql(`grant usage on schema muster to ${role}`);
    expect(await refusal(attempt(submit))).toMatchObject({ code: '42501' });
    await shop.sql(`grant execute on function muster.submit to ${role}`);
    expect((await attempt(submit)).rowCount).toBe(1);
    for (const text of [
      'select from muster.task',
      'select from muster.handler',
      `insert into muster.leader (handler_id, name) values (1, 'x')`,
      'delete from muster.queue',
      `select muster.note_ended('{1}', '{4}')`,
      `select muster.recipient_of('{"url": "https://a.example"}')`,
    ])
      expect([text, await refusal(attempt(text))]).toMatchObject([text, { code: '42501' }]);
  } finally {
    session.release();
    await shop.sql(`drop owned by ${role}; drop role ${role}`);
  }
});

test('what the page shows can be run from its beginning to its end, and submits all that it says', async () => {
  const page = readFileSync(path.join(ROOT, 'docs', 'submit-by-sql.md'), 'utf8');
  const role = `app_${shop.database.name}`;
  const blocks = [...page.matchAll(/```sql\n(.*?)```/gs)].map(([, text]) => text!.replace(/\bapp;/g, `${role};`));
  const theirs = new pg.Client({ connectionString: shop.database.url.split('?')[0]! });
  await theirs.connect();
  try {
    await theirs.query(`create role ${role}; drop table if exists public.purchase cascade`);
    for (const text of blocks) await theirs.query(text);
  } finally {
    await theirs.query(`drop owned by ${role}; drop role ${role}`);
    await theirs.end();
  }
  const all = ['order-1', 'order-10', 'order-7', 'order-8', 'order-9'];
  expect(await ids('order-')).toEqual(all);
  expect(blocks.join()).toMatch(/depends_on.*callback/s);
});

test('nothing in the store is against its rules', () => expectWhole(shop.client));

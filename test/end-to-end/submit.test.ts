import pg from 'pg';
import { z } from 'zod';
import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import type { Client, InvalidTaskError } from '../../client';
import { createClient } from '../../client';
import { eventually } from '../helpers/eventually';
import { temporalAddress } from '../helpers/database';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import type { Order } from './badTasks';
import { BAD_TASKS, good } from './badTasks';

const seen: string[] = [];
const orders = defineHandler<Order>({
  name: 'orders',
  schema: z.object({ to: z.unknown(), n: z.number() }),
  target: (order) => order.to as string,
  limits: { maxItems: 100, maxBytes: 400_000 },
  linger: { lingerMs: 20 },
  submit: async (batch) => {
    seen.push(...batch.tasks.map((task) => task.id));
    return { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) };
  },
});
const backlogged = (name: string): Handler =>
  defineHandler<Order>({
    name,
    target: (order) => order.to as string,
    limits: { maxItems: 100 },
    linger: { lingerMs: 86_400_000 },
    maxQueued: { perTarget: 10, perHandler: 15 },
    submit: async () => ({ results: [] }),
  });

let muster: TestMuster;
let client: Client;
beforeAll(async () => {
  muster = await startMuster([orders, backlogged('slow')]);
  client = muster.client;
});
afterAll(() => muster.stop());

const count = async (): Promise<number> =>
  (await muster.database.pool.query<{ n: number }>({ text: 'select count(*) as n from task' })).rows[0]!.n;
const problemOf = async (tasks: unknown): Promise<{ code: string; field: string; message: string }> => {
  const before = await count();
  const error = (await client.submit('orders', tasks as never).then(
    () => ({ problems: [] }),
    (e: unknown) => e,
  )) as InvalidTaskError;
  expect(await count()).toBe(before);
  return error.problems[0]!;
};

describe('bad input: nothing is accepted, the error names the field, what was expected and what came', () => {
  test.each(BAD_TASKS)('%s', async (_, task, field, code, message) => {
    const problem = await problemOf([good(`fine-${code}-${field}`), task]);
    expect(problem).toMatchObject({ field, code });
    expect(problem.message).toMatch(message);
  });

  test('an unknown handler is refused', async () => {
    await expect(client.submit('nope', good('x'))).rejects.toThrow(
      /handler: expected one of "orders", "slow", got "nope"/,
    );
  });
  test('10,001 tasks in one call are refused', async () => {
    const tasks = Array.from({ length: 10_001 }, (_, i) => good(`many-${i}`));
    await expect(client.submit('orders', tasks)).rejects.toThrow(/expected at most 10000 in one call, got 10001/);
  });
  test('the same id with other content, in one call and against an accepted one; few and many [A1]', async () => {
    await expect(client.submit('orders', [good('twin'), good('twin', 'b')])).rejects.toThrow(
      /"twin".*task 0 of the same call/s,
    );
    const many = Array.from({ length: 200 }, (_, i) => good(`stored-${i}`));
    expect(await client.submit('orders', many)).toMatchObject({ accepted: 200, repeated: 0 });
    expect(await client.submit('orders', many)).toMatchObject({ accepted: 0, repeated: 200 });
    const before = await count();
    await expect(
      client.submit('orders', [...many.map(({ id }) => good(`new-${id}`)), good('stored-7', 'b')]),
    ).rejects.toThrow(/"stored-7".*an accepted task has this id with another payload/s);
    await expect(client.submit('orders', [good('new-few'), good('stored-7', 'b')])).rejects.toThrow(/stored-7/);
    expect(await count()).toBe(before);
    expect(await client.submit('orders', [good('new-few'), good('stored-7', 'b')], { partial: true })).toMatchObject({
      accepted: 1,
      repeated: 0,
      refused: [{ code: 'ID_CONFLICT', index: 1 }],
    });
  });
  test('database down, Temporal down: each says what to check; with Temporal down a submit is accepted all the same', async () => {
    const nowhere = createClient({ databaseUrl: 'postgres://nobody@127.0.0.1:9/none', handlers: [orders] });
    await expect(nowhere.submit('orders', good('down'))).rejects.toThrow(
      /Postgres cannot be reached.*MUSTER_DATABASE_URL/,
    );
    await nowhere.close();
    const failures: Error[] = [];
    const deaf = createClient({
      databaseUrl: muster.database.url,
      handlers: [orders],
      prefix: muster.prefix,
      temporal: { address: '127.0.0.1:9', connection: { connectTimeout: '500ms' } },
      onRingFailure: (error) => void failures.push(error),
    });
    expect(await deaf.submit('orders', good('deaf', 'deaf'))).toMatchObject({ accepted: 1 });
    await deaf.close(); // the failed wake is behind the submit
    expect(failures[0]?.message).toMatch(/Cannot connect to Temporal at 127.0.0.1:9: .*ECONNREFUSED.*TEMPORAL_ADDRESS/);
  });
});

test('hostile strings in ids and targets come back as they were', async () => {
  const names = [
    `'; drop table task; --`,
    '"q"',
    '\\N',
    'tab\there',
    'line\nbreak',
    '../../etc',
    '😀 4-byte',
    '%s {{id}} ${x}',
    '\u0001\u007f',
  ];
  const tasks = names.map((name, i) => ({ id: `${name}#${i}`, payload: { to: name, n: i } }));
  await client.submit('orders', tasks);
  await client.submit(
    'orders',
    Array.from({ length: 60 }, (_, i) => ({
      id: `copy ${names[i % names.length]}#${i}`,
      payload: { to: names[i % names.length], n: i },
    })),
  );
  const missing = (): unknown => ({
    few: tasks.filter((task) => !seen.includes(task.id)),
    copies: seen.filter((id) => id.startsWith('copy ')).length,
  });
  await eventually(
    () => tasks.every((task) => seen.includes(task.id)) && seen.filter((id) => id.startsWith('copy ')).length === 60,
    {
      what: async () =>
        JSON.stringify([
          missing(),
          (
            await muster.database.pool.query({
              text: 'select t.key, due_at - clock() as due, l.name, l.state from target t join leader l on l.id = t.leader_id where t.due_at is not null',
            })
          ).rows,
        ]),
    },
  );
});

test('maxQueued: refused with Backlogged and the depth, nothing accepted', async () => {
  const tasks = (to: string, n: number): unknown[] =>
    Array.from({ length: n }, (_, i) => ({ id: `q-${to}-${i}`, payload: { to, n: i } }));
  await client.submit('slow', tasks('a', 10) as never);
  await expect(client.submit('slow', { id: 'q-more', payload: { to: 'a', n: 1 } })).rejects.toMatchObject({
    code: 'BACKLOGGED',
    depth: 10,
    limit: 10,
  });
  await expect(client.submit('slow', tasks('b', 6) as never)).rejects.toMatchObject({
    code: 'BACKLOGGED',
    depth: 10,
    limit: 15,
  });
  await client.submit('slow', tasks('b', 5) as never);
});

describe('submit in the caller’s own transaction [G14]', () => {
  const withTx = async (work: (tx: pg.Client) => Promise<void>): Promise<void> => {
    const tx = new pg.Client({ connectionString: muster.database.url });
    await tx.connect();
    try {
      await tx.query('begin');
      await work(tx);
    } finally {
      await tx.end();
    }
  };
  test('maxQueued: what the transaction has written itself counts; a refusal leaves it as it was', async () => {
    const narrow = createClient({
      databaseUrl: muster.database.url,
      handlers: [backlogged('narrow')],
      temporal: { address: temporalAddress() },
    });
    const tasks = (to: string, n: number, from = 0): { id: string; payload: Order }[] =>
      Array.from({ length: n }, (_, i) => ({ id: `own-q-${to}-${from + i}`, payload: { to, n: i } }));
    await withTx(async (tx) => {
      await narrow.submit('narrow', tasks('a', 6), { tx });
      await expect(narrow.submit('narrow', tasks('a', 5, 6), { tx })).rejects.toMatchObject({
        code: 'BACKLOGGED',
        depth: 6,
        limit: 10,
      });
      await narrow.submit('narrow', tasks('b', 6), { tx });
      await expect(narrow.submit('narrow', tasks('c', 4), { tx })).rejects.toMatchObject({
        code: 'BACKLOGGED',
        depth: 12,
        limit: 15,
      });
      expect(await narrow.submit('narrow', tasks('c', 3), { tx })).toMatchObject({ accepted: 3 });
      await tx.query('rollback');
    });
    await narrow.close();
  });
  test('rolled back: never accepted; committed: accepted, and sent although nobody rings', async () => {
    await withTx(async (tx) => {
      expect(await client.submit('orders', good('tx-rolled-back'), { tx })).toMatchObject({ accepted: 1 });
      await tx.query('rollback');
    });
    await withTx(async (tx) => {
      await client.submit('orders', good('tx-committed', 'tx'), { tx });
      expect((await tx.query('show search_path')).rows[0].search_path).toBe('"$user", public');
      await tx.query('commit');
    });
    await eventually(() => seen.includes('tx-committed'));
    expect(seen).not.toContain('tx-rolled-back');
    expect((await muster.database.pool.query({ text: `select from task where id = 'tx-rolled-back'` })).rowCount).toBe(
      0,
    );
  });
  test('a refused call leaves the transaction usable and nothing of it behind', async () => {
    await withTx(async (tx) => {
      await tx.query('create temp table mine (n int)');
      await client.submit(orders, good('tx-first'), { tx }); // the handler itself in place of its name
      await expect(client.submit('orders', [good('tx-second'), good('tx-first', 'b')], { tx })).rejects.toThrow(
        /tx-first/,
      );
      await tx.query('insert into mine values (1)');
      await tx.query('commit');
    });
    const { rows } = await muster.database.pool.query<{ id: string }>({
      text: `select id from task where id like 'tx-%' order by id`,
    });
    expect(rows.map((row) => row.id)).toEqual(['tx-committed', 'tx-first']);
  });
});

test('an async iterable of any length: bounded chunks, all accepted', async () => {
  let made = 0;
  const stream = async function* (): AsyncGenerator<{ id: string; payload: Order }> {
    for (; made < 5_500; made++) yield good(`stream-${made}`, `s${made % 3}`);
  };
  expect(await client.submit('orders', stream())).toMatchObject({ accepted: 5_500, repeated: 0 });
  expect(await client.submit('orders', [good('stream-3', 's0'), good('stream-new', 's0')])).toMatchObject({
    accepted: 1,
    repeated: 1,
  });
});

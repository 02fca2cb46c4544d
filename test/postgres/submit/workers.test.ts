import pino from 'pino';
import { z } from 'zod';
import { defineHandler } from '../../../handlers';
import { createPool } from '../../../postgres/pool';
import type { Receiver } from '../../services/notifier/receiver';
import { messagesOf, SECRET, startReceiver } from '../../services/notifier/receiver';
import { SubmitListener } from '../../../workers/submits/listener';
import type { TasksEnded } from '../../../workflows/definitions';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/**
 * Workers and tasks that were submitted by SQL: when they hear of them, and what they check.
 *
 * @slow
 */

const calls: { target: string; payloads: unknown[] }[] = [];
const orders = defineHandler({
  name: 'orders',
  schema: z.object({ customer: z.string(), total: z.number(), note: z.string().default('none') }),
  target: ({ customer }) => customer,
  limits: { maxItems: 20 },
  linger: { lingerMs: 50 },
  submit: async ({ target, tasks }) => {
    calls.push({ target, payloads: tasks.map(({ payload }) => payload) });
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' })) };
  },
});

/** So long that within a test only a message of the database brings a task to its worker. */
const SWEEP_MS = 600_000;

let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  const callbacks = { allow: [`127.0.0.1:${receiver.port}`], secret: SECRET };
  muster = await startMuster([orders], { sweepEveryMs: SWEEP_MS, callbacks });
});
afterAll(async () => {
  await muster.stop();
  await receiver.close();
});
beforeEach(() => calls.splice(0));

const query = (text: string, values: unknown[] = []) => muster.database.pool.query(text, values);
/** Sessions of this database that listen. */
const listeners = async (): Promise<number[]> => {
  const { rows } = await query(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'muster submits'`,
  );
  return (rows as { pid: number }[]).map(({ pid }) => pid);
};
/** It listens, and its only round has passed the queues. */
const listened = () => eventually(async () => muster.node.sweepCounts.cycles > 0 && (await listeners()).length === 1);

test('a task goes at the commit, without a ring and before any sweep', async () => {
  await listened();
  const client = await muster.database.pool.connect();
  await client.query('begin');
  await client.query(`select submit('orders', 'heard-1', '{"customer": "ada", "total": 1}', 'ada')`);
  await client.query('commit');
  client.release();
  const [task] = await muster.client.waitFor('heard-1', { timeoutMs: 60_000 });
  expect(task).toMatchObject({ state: 'succeeded', attempts: 1 });
  expect(calls).toEqual([{ target: 'ada', payloads: [{ customer: 'ada', total: 1, note: 'none' }] }]);
});

test('what depends on ended tasks goes at the commit; one that fails with them tells its receiver', async () => {
  await listened();
  const bad = '{"customer": "ada", "total": "much"}';
  await query(
    `select submit('orders', 'good', '{"customer": "ada", "total": 2}', 'ada'),
       submit('orders', 'bad', $1, 'ada')`,
    [bad],
  );
  await muster.client.waitFor(['good', 'bad'], { timeoutMs: 60_000 });
  const after = `select submit('orders', $1, $4, 'ada', depends_on => $2, callback => $3)`;
  const rest = [{ url: receiver.url }, { customer: 'ada', total: 3 }];
  await query(after, ['after-good', ['good'], ...rest]);
  await query(after, ['after-bad', ['bad'], ...rest]);
  const ends = await muster.client.waitFor(['after-good', 'after-bad'], { timeoutMs: 60_000 });
  expect(ends).toMatchObject([
    { state: 'succeeded' },
    { state: 'failed', error: 'dependency "bad" failed', attempts: 0 },
  ]);
  const told = await eventually(() => receiver.received.length === 2 && messagesOf<TasksEnded>(receiver));
  expect(told.flatMap(({ data }) => data.tasks.map(({ id, state }) => `${id} ${state}`)).sort()).toEqual([
    'after-bad failed',
    'after-good succeeded',
  ]);
});

test('of many tasks of one batch, those that the handler refuses fail alone, and say why', async () => {
  const wrong: Record<string, string> = {
    'bad-1': '{"customer": "eve", "total": "much"}',
    'bad-2': '{"customer": "mallory", "total": 1}',
    'bad-3': '{"customer": "eve", "total": 12345678901234567890}',
  };
  await query(
    `select submit('orders', id, payload::jsonb, 'eve') from unnest($1::text[], $2::text[]) t (id, payload)`,
    [
      [...Object.keys(wrong), ...Array.from({ length: 9 }, (_, i) => `good-${i}`)],
      [...Object.values(wrong), ...Array.from({ length: 9 }, (_, i) => `{"customer": "eve", "total": ${i}}`)],
    ],
  );
  const good = await muster.client.waitFor(
    Array.from({ length: 9 }, (_, i) => `good-${i}`),
    { timeoutMs: 120_000 },
  );
  expect(good.map(({ state }) => state)).toEqual(good.map(() => 'succeeded'));
  const bad = await muster.client.waitFor(Object.keys(wrong), { timeoutMs: 120_000 });
  const why = (id: string): string => bad.find((task) => task.id === id)?.error ?? '';
  expect(bad.map(({ state }) => state)).toEqual(['failed', 'failed', 'failed']);
  expect(why('bad-1')).toMatch(
    /^not sent: the payload of task "bad-1" cannot be used: handler "orders" refuses it: payload\.total: /,
  );
  expect(why('bad-2')).toMatch(/target: expected "mallory", as it is computed, got "eve"/);
  expect(why('bad-3')).toMatch(
    /payload\.total: expected a number that can be stored exactly, got 12345678901234567890/,
  );
  expect(why('bad-1')).toMatch(/submitted by SQL, which cannot check this: submit the right one under another id$/);
  expect(calls.flatMap(({ payloads }) => payloads)).toHaveLength(9);
});

test('the client repeats such a task by what its schema makes of it', async () => {
  await query(`select submit('orders', 'both', '{"customer": "ada", "total": 1}', 'ada')`);
  const again = { id: 'both', payload: { customer: 'ada', total: 1 } };
  expect(await muster.client.submit(orders, again)).toMatchObject({ accepted: 0, repeated: 1 });
  expect(await muster.client.getTask('both')).not.toHaveProperty('payloadVersion');
});

test('behind a pooler, which lends no session out for long, nothing listens', async () => {
  const url = new URL(muster.database.url);
  url.searchParams.set('pgbouncer', 'true');
  const pool = createPool({ databaseUrl: url.href });
  const nothing = async (): Promise<void> => undefined;
  const listener = new SubmitListener({ pool, log: pino({ level: 'silent' }), ring: nothing, release: nothing });
  await listened();
  await listener.listen();
  expect(await listeners()).toHaveLength(1); // that of the worker
  await listener.close();
  await pool.end();
});

test('a worker whose connection for it was lost is told by the sweeper, and listens again', async () => {
  const one = await startMuster([orders]); // with the usual sweep
  const ask = (text: string) => one.database.pool.query(text);
  try {
    const pidOf = async (): Promise<number | undefined> =>
      (
        (await ask(
          `select pid from pg_stat_activity where datname = current_database() and application_name = 'muster submits'`,
        )) as { rows: { pid: number }[] }
      ).rows[0]?.pid;
    const first = await eventually(pidOf);
    await ask(`select pg_terminate_backend(${first})`);
    await ask(`select submit('orders', 'after a loss', '{"customer": "ada", "total": 1}', 'ada')`);
    const [task] = await one.client.waitFor('after a loss', { timeoutMs: 60_000 });
    expect(task).toMatchObject({ state: 'succeeded' });
    await eventually(async () => ((await pidOf()) ?? first) !== first);
  } finally {
    await one.stop();
  }
});

test('nothing in the store is against its rules', () => expectWhole(muster.client));

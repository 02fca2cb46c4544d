import { defineHandler, RejectedError } from '../../../handlers';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { inTransaction } from '../../../postgres/pool';
import { insertNotifications } from '../../../postgres/calls/records';
import type { TasksEnded } from '../../../workflows/definitions';
import { wakeNotifier } from '../../../workflows/wake';
import { eventually } from '../../helpers/eventually';
import { startMuster } from '../../helpers/muster';
import type { TestMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';
import type { Receiver } from './receiver';
import { messagesOf, SECRET, startReceiver } from './receiver';
import { Requests } from '../../../workflows/temporal/requests';

/**
 * Poison costs itself alone: a task among the tasks of its batch, a message among the messages of a
 * look.
 *
 * @slow
 */

const jobs = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 64 },
  linger: { lingerMs: 60_000 },
  submit: ({ tasks }) =>
    tasks.some(({ id }) => id === 'w-40')
      ? Promise.reject(new RejectedError('w-40 is poison'))
      : Promise.resolve({ results: tasks.map(({ id }) => ({ id, status: 'ok', result: `did ${id}` })) }),
});
let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  muster = await startMuster([jobs], { callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } });
});
afterAll(async () => {
  await muster.stop();
  await receiver.close();
});

test('poison among 64: over all messages each id once, the poison failed, 63 succeeded, all signed', async () => {
  const ids = Array.from({ length: 64 }, (_, i) => `w-${i}`);
  const callback = { url: receiver.url };
  await muster.client.submit(
    'jobs',
    ids.map((id) => ({ id, payload: { to: 'there' }, callback })),
  );
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  const open = 'select count(*)::int as n from notification where done_at is null';
  await eventually(async () => (await muster.database.pool.query<{ n: number }>(open)).rows[0]!.n === 0);
  const tasks = messagesOf<TasksEnded>(receiver).flatMap(({ data }) => data.tasks);
  expect(tasks.map(({ id }) => id).sort()).toEqual([...ids].sort());
  const [poison] = tasks.filter(({ id }) => id === 'w-40');
  expect(poison).toEqual({ id: 'w-40', state: 'failed', error: expect.stringContaining('w-40 is poison') });
  for (const task of tasks.filter(({ id }) => id !== 'w-40'))
    expect(task).toEqual({ id: task.id, state: 'succeeded', result: `did ${task.id}` });
  await expectWhole(muster.client);
});

test('what cannot be read or sent of one message is its own attempt: the 100 beside it go in theirs', async () => {
  const { pool } = muster.database;
  await muster.client.submit('jobs', { id: 'torn', payload: { to: 'torn' } });
  await muster.client.flush('jobs');
  await muster.client.waitFor(['torn'], { timeoutMs: 60_000 });
  const { batch } = (await muster.client.getTask('torn'))!;
  await pool.query({ text: `update result_page set results = '5' where batch_id = $1`, values: [batch] });

  const toBe = (path: string): Promise<number> =>
    registerRecipient(pool, 'webhook', { url: `${receiver.url}/${path}` });
  const honest = { recipient_id: await toBe('honest'), batch_id: null, attempt: null };
  const broken = { ...honest, recipient_id: await toBe('broken') };
  const said = (tasks: unknown): object => ({ handler: 'jobs', target: 't', batch: null, tasks });
  const body = said([{ id: 'h', state: 'succeeded' }]);
  const before = Array.from({ length: 50 }, () => ({ ...honest, body }));
  const bodies: unknown[] = ['null', 5, 'text', [], said(null)];
  const unread = { ...broken, batch_id: batch, attempt: 1, body: said([{ id: 'torn', state: 'succeeded' }]) };
  const poison = [...bodies.map((one) => ({ ...broken, body: one as object })), unread];
  await inTransaction(pool, async (tx) => {
    await insertNotifications(tx, [...before, ...poison, ...before]);
    await tx.query(`update notification set body = 'null' where body = '"null"'`);
  });
  expect(await wakeNotifier(new Requests(await muster.client.temporal()), muster.prefix)).toBeNull();

  const rowsOf = async (path: string) =>
    (
      await pool.query<{ attempts: number; done: boolean; error: string | null }>({
        text: `select n.attempts, n.done_at is not null as done, n.error
          from notification n join recipient i on i.id = n.recipient_id
          where i.address->>'url' = $1 order by n.id`,
        values: [`${receiver.url}/${path}`],
      })
    ).rows;
  await eventually(async () => (await rowsOf('honest')).every(({ done }) => done), {
    timeoutMs: 90_000,
    what: 'the honest messages',
  });
  const all = Array.from({ length: 100 }, () => ({ attempts: 1, done: true, error: null }));
  expect(await rowsOf('honest')).toEqual(all);
  const bad = await eventually(async () => {
    const rows = await rowsOf('broken');
    return rows.every(({ error }) => error !== null) && rows;
  });
  for (const one of bad) expect(one).toMatchObject({ done: false, error: expect.stringMatching(/^not sent: /) });
  expect(bad.at(-1)!.error).toMatch(/json_array_elements/);
  expect(receiver.received.filter(({ path }) => path === '/broken')).toEqual([]);
  await pool.query('delete from notification where done_at is null');
});

test('a statement that takes too long for one message is its own attempt: the others go in theirs', async () => {
  const { pool } = muster.database;
  const to = (path: string): Promise<number> => registerRecipient(pool, 'webhook', { url: `${receiver.url}/${path}` });
  await muster.client.submit('jobs', { id: 'whole', payload: { to: 'whole' } });
  await muster.client.flush('jobs');
  await muster.client.waitFor(['whole'], { timeoutMs: 60_000 });
  const { batch } = (await muster.client.getTask('whole'))!;
  const body = { handler: 'jobs', target: 't', batch: null, tasks: [{ id: 'whole', state: 'succeeded' }] };
  const slow = { recipient_id: await to('slow'), batch_id: batch, attempt: 1, body };
  const quick = { recipient_id: await to('quick'), batch_id: null, attempt: null, body };
  const rowsOf = async (recipient: number) =>
    (
      await pool.query<{ attempts: number; done: boolean; error: string | null }>({
        text: 'select attempts, done_at is not null as done, error from notification where recipient_id = $1',
        values: [recipient],
      })
    ).rows;
  await inTransaction(pool, async (tx) => {
    await tx.query('lock table result_page in access exclusive mode'); // what the slow one reads
    await inTransaction(pool, (other) =>
      insertNotifications(other, [slow, ...Array.from({ length: 100 }, () => quick)]),
    );
    expect(await wakeNotifier(new Requests(await muster.client.temporal()), muster.prefix)).toBeNull();
    // As the server does by itself when a statement's time is over.
    const cancel = `select pg_cancel_backend(pid) as done from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%result_page%'`;
    await eventually(async () => {
      await pool.query(cancel);
      return (await rowsOf(slow.recipient_id)).every(({ error }) => error !== null);
    });
    await eventually(async () => (await rowsOf(quick.recipient_id)).every(({ done }) => done));
  });
  const tried = {
    attempts: expect.any(Number),
    done: false,
    error: expect.stringMatching(/^not sent: .*canceling statement/),
  };
  expect(await rowsOf(slow.recipient_id)).toEqual([tried]);
  const sent = Array.from({ length: 100 }, () => ({ attempts: 1, done: true, error: null }));
  expect(await rowsOf(quick.recipient_id)).toEqual(sent);
  await pool.query('delete from notification where done_at is null');
});

import type { BatchTask, ItemResult } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { partsOf } from '../../../activities/callbacks/message';
import { endNotification, putOffNotification, takeDueNotifications } from '../../../postgres/callbacks/notification';
import { insertNotifications } from '../../../postgres/calls/records';
import { registerRecipient } from '../../../postgres/callbacks/recipient';
import { DEFAULT_WORKFLOWS } from '../../../workflows/planning/callbacks/workflows';
import { wakeNotifier } from '../../../workflows/wake';
import type { TaskEnd, TasksEnded } from '../../../workflows/definitions';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import type { Receiver } from './receiver';
import { messagesOf, SECRET, startReceiver } from './receiver';
import { Requests } from '../../../workflows/temporal/requests';

interface Work {
  to: string;
  give?: unknown;
  fail?: string;
}
const give = ({ id, payload }: BatchTask<Work>): ItemResult =>
  payload.fail === undefined
    ? { id, status: 'ok', result: payload.give }
    : { id, status: 'failed', error: payload.fail };
const jobs = defineHandler<Work>({
  name: 'jobs',
  target: (work) => work.to,
  limits: { maxItems: 20_000 },
  linger: { lingerMs: 100 },
  submit: async (batch) => ({ results: batch.tasks.map(give) }),
});

let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  muster = await startMuster([jobs], {
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET, workflows: { ...DEFAULT_WORKFLOWS, signals: ['mine'] } },
  });
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());
afterAll(() => muster.stop());

const messages = () => messagesOf<TasksEnded>(receiver);
const notifications = async (url: string): Promise<{ attempts: number; done: boolean; error: string | null }[]> => {
  const text = `select n.attempts, n.done_at is not null as done, n.error from notification n join recipient i on i.id = n.recipient_id where i.address->>'url' = $1 order by n.id`;
  return (
    await muster.database.pool.query<{ attempts: number; done: boolean; error: string | null }>({ text, values: [url] })
  ).rows;
};

test('one signed message a batch and recipient, with every end of its tasks and their results [A17]', async () => {
  const url = `${receiver.url}/ends`;
  const callback = { url };
  const other = { url: `${receiver.url}/other` };
  await muster.client.submit('jobs', [
    { id: 'a', payload: { to: 'x', give: { n: 1 } }, callback },
    { id: 'b', payload: { to: 'x', fail: 'no such thing' }, callback },
    { id: 'c', payload: { to: 'x', give: 'three' }, callback: other },
    { id: 'd', payload: { to: 'x' } },
  ]);
  await eventually(() => receiver.received.length === 2);
  const [first, second] = messages().sort((a, b) => b.data.tasks.length - a.data.tasks.length);
  expect(first).toMatchObject({
    type: 'tasks.ended',
    data: { handler: 'jobs', target: 'x', batch: expect.any(Number) },
  });
  expect(Math.abs(Date.parse(first!.timestamp) - Date.now())).toBeLessThan(30_000);
  expect(first!.data.tasks).toEqual([
    { id: 'a', state: 'succeeded', result: { n: 1 } },
    { id: 'b', state: 'failed', error: 'no such thing' },
  ]);
  expect(second!.data.tasks).toEqual([{ id: 'c', state: 'succeeded', result: 'three' }]);
  expect(
    await eventually(async () => (await notifications(url)).every((one) => one.done) && notifications(url)),
  ).toEqual([{ attempts: 1, done: true, error: null }]);
});

test('a receiver that refuses twice gets the same message again, then no more', async () => {
  const url = `${receiver.url}/later`;
  receiver.answer = (response, n) => void response.writeHead(n <= 2 ? 503 : 200).end();
  await muster.client.submit('jobs', { id: 'later', payload: { to: 'y' }, callback: { url } });
  await eventually(() => receiver.received.length === 3, { timeoutMs: 60_000 });
  expect(new Set(receiver.received.map((one) => one.headers['webhook-id'])).size).toBe(1);
  expect(new Set(receiver.received.map((one) => one.body)).size).toBe(1);
  expect(await eventually(async () => (await notifications(url))[0]!.done && notifications(url))).toEqual([
    { attempts: 3, done: true, error: null },
  ]);
});

test('410 ends it with the reason kept; so does a host that is not allowed', async () => {
  const gone = `${receiver.url}/gone`;
  const elsewhere = `http://localhost:${receiver.port}/`;
  receiver.answer = (response) => void response.writeHead(410).end();
  await muster.client.submit('jobs', [
    { id: 'gone', payload: { to: 'z' }, callback: { url: gone } },
    { id: 'elsewhere', payload: { to: 'z' }, callback: { url: elsewhere } },
  ]);
  expect(await eventually(async () => (await notifications(gone))[0]?.done && notifications(gone))).toEqual([
    { attempts: 1, done: true, error: expect.stringContaining('410') },
  ]);
  expect(await eventually(async () => (await notifications(elsewhere))[0]?.done && notifications(elsewhere))).toEqual([
    { attempts: 1, done: true, error: expect.stringMatching(/host localhost:\d+: not in callbacks\.allow/) },
  ]);
  expect(receiver.received.map((one) => one.path)).toEqual(['/gone']);
});

test('a delivery whose process died is made by another when its lease has passed; what the dead one writes later counts for nothing', async () => {
  const url = `${receiver.url}/died`;
  const { pool } = muster.database;
  const recipient = await registerRecipient(pool, 'webhook', { url });
  const body = { handler: 'jobs', target: 'died', batch: null, tasks: [{ id: 'died', state: 'succeeded' }] };
  await insertNotifications(pool, [{ batch_id: null, attempt: null, recipient_id: recipient, body }]);
  const [taken] = await takeDueNotifications(pool, {
    limit: 1,
    leaseMs: 1_500,
    except: [],
    perHost: 1,
    firstOnly: false,
  });
  expect(await wakeNotifier(new Requests(await muster.client.temporal()), muster.prefix)).toBeNull();
  await eventually(() => receiver.received.length === 1);
  await eventually(async () => (await notifications(url))[0]!.done);
  await putOffNotification(pool, taken!.id, taken!.attempts, 0, 'zombie');
  await endNotification(pool, taken!.id, taken!.attempts, 'zombie');
  expect(await notifications(url)).toEqual([{ attempts: 2, done: true, error: null }]);
  expect(receiver.received).toHaveLength(1);
});

test('a host that does not answer holds up nobody else, and its other messages are put off untried', async () => {
  const silent = await startReceiver();
  silent.answer = () => undefined;
  const { pool } = muster.database;
  const body = { handler: 'jobs', target: 'down', batch: null, tasks: [{ id: 'down', state: 'succeeded' }] };
  const insert = async (url: string, times: number): Promise<void> => {
    const recipient = await registerRecipient(pool, 'webhook', { url });
    await insertNotifications(
      pool,
      Array.from({ length: times }, () => ({ batch_id: null, attempt: null, recipient_id: recipient, body })),
    );
  };
  await insert(`${silent.url}/down`, 60);
  await insert(`${receiver.url}/up`, 30);
  expect(await wakeNotifier(new Requests(await muster.client.temporal()), muster.prefix)).toBeNull();
  await eventually(() => receiver.received.length === 30, { timeoutMs: 60_000 });
  await silent.close(); // what waits for an answer ends
  const errors = await eventually(
    async () => {
      const rows = await notifications(`${silent.url}/down`);
      return rows.every((row) => row.error !== null) && rows.map((row) => row.error);
    },
    { timeoutMs: 60_000 },
  );
  expect(
    errors.filter((error) => error!.startsWith('not tried, since its host did not answer another delivery')).length,
  ).toBeGreaterThan(20);
  await pool.query(`update notification set done_at = clock(), next_at = null where done_at is null`);
});

test('results of 32 KiB or more are left out, and the message says so', async () => {
  const callback = { url: receiver.url };
  const text = (length: number): string => 'x'.repeat(length - 2); // its JSON has two quotes
  await muster.client.submit('jobs', [{ id: 'fits', payload: { to: 'fits', give: text(32_767) }, callback }]);
  await muster.client.submit('jobs', [
    { id: 'half 1', payload: { to: 'much', give: text(16_384) }, callback },
    { id: 'half 2', payload: { to: 'much', give: text(16_384) }, callback },
  ]);
  await eventually(() => receiver.received.length === 2);
  const byTarget = new Map(messages().map(({ data }) => [data.target, data]));
  expect(byTarget.get('fits')).toMatchObject({ tasks: [{ id: 'fits', result: text(32_767) }] });
  expect(byTarget.get('fits')).not.toHaveProperty('resultsOmitted');
  expect(byTarget.get('much')).toMatchObject({
    resultsOmitted: true,
    tasks: [
      { id: 'half 1', state: 'succeeded' },
      { id: 'half 2', state: 'succeeded' },
    ],
  });
  expect(byTarget.get('much')!.tasks[0]).not.toHaveProperty('result');
});

describe('a workflow as recipient', () => {
  /**
   * The signals that a workflow got: it is never run (nobody polls its queue), its history says it
   * all.
   */
  const signalsOf = async (workflowId: string): Promise<{ name: string; body: TasksEnded }[]> => {
    const { events } = await (await muster.client.temporal()).workflow.getHandle(workflowId).fetchHistory();
    return events!.flatMap(({ workflowExecutionSignaledEventAttributes: signal }) =>
      signal == null
        ? []
        : [
            {
              name: signal.signalName!,
              body: JSON.parse(Buffer.from(signal.input!.payloads![0]!.data!).toString()) as TasksEnded,
            },
          ],
    );
  };
  const start = async (): Promise<string> => {
    const workflowId = `${muster.prefix}-user-${Math.random()}`;
    await (await muster.client.temporal()).workflow.start('user', { workflowId, taskQueue: 'nobody' });
    return workflowId;
  };

  test('is signalled, by the name it asked for; results included', async () => {
    const workflowId = await start();
    await muster.client.submit('jobs', [
      { id: 'w1', payload: { to: 'w', give: 1 }, callback: { workflowId } },
      { id: 'w2', payload: { to: 'w', give: 2 }, callback: { workflowId, signal: 'mine' } },
    ]);
    const signals = await eventually(async () => (await signalsOf(workflowId)).length === 2 && signalsOf(workflowId));
    expect(signals.map(({ name, body }) => [name, body.tasks]).sort()).toEqual([
      ['mine', [{ id: 'w2', state: 'succeeded', result: 2 }]],
      ['musterTasksEnded', [{ id: 'w1', state: 'succeeded', result: 1 }]],
    ]);
    const counted = muster.node.deps.requests.counts();
    expect(counted).toContainEqual({ kind: 'callback', handler: 'jobs', n: signals.length });
  });

  test('more than a server takes in one signal goes in parts', async () => {
    const workflowId = await start();
    const name = 'n'.repeat(230);
    const tasks = Array.from({ length: 10_000 }, (_, i) => ({
      id: `${name}-${i}`,
      payload: { to: 'many' },
      callback: { workflowId },
    }));
    await muster.client.submit('jobs', tasks);
    const ended = async (): Promise<TaskEnd[]> => (await signalsOf(workflowId)).flatMap(({ body }) => body.tasks);
    await eventually(async () => (await ended()).length === 10_000, { timeoutMs: 60_000 });
    expect((await ended()).map((task) => task.id)).toEqual(tasks.map((task) => task.id));
    expect((await signalsOf(workflowId)).length).toBeGreaterThan(5);
  });

  test('that has ended or never was: the notification is over, with the reason', async () => {
    const workflowId = await start();
    await (await muster.client.temporal()).workflow.getHandle(workflowId).terminate();
    await muster.client.submit('jobs', [
      { id: 'late 1', payload: { to: 'l' }, callback: { workflowId } },
      { id: 'late 2', payload: { to: 'l' }, callback: { workflowId: 'never-was' } },
    ]);
    const text = `select n.error from notification n join recipient i on i.id = n.recipient_id where i.address->>'workflowId' in ('never-was', $1) and n.done_at is not null order by 1`;
    const rows = await eventually(async () => {
      const { rows } = await muster.database.pool.query<{ error: string }>({ text, values: [workflowId] });
      return rows.length === 2 && rows;
    });
    expect(rows.map((row) => row.error)).toEqual(
      expect.arrayContaining([
        'workflow never-was: not found, or it has ended',
        `workflow ${workflowId}: not found, or it has ended`,
      ]),
    );
  });
});

test('parts: whole tasks in their order, none empty, a single one never split', () => {
  const message: TasksEnded = {
    handler: 'h',
    target: 't',
    batch: 1,
    tasks: Array.from({ length: 100 }, (_, i) => ({
      id: `${i}`,
      state: 'failed',
      error: 'e'.repeat(i === 50 ? 5_000 : 10),
    })),
  };
  const parts = partsOf(message, 1_000);
  expect(parts.flatMap((part) => part.tasks)).toEqual(message.tasks);
  expect(parts.length).toBeGreaterThan(4);
  for (const part of parts) expect(part.tasks.length === 1 || JSON.stringify(part.tasks).length <= 1_002).toBe(true);
  expect(partsOf({ ...message, tasks: [] }, 10)).toHaveLength(1);
});

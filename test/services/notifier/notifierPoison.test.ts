import { defineHandler, RejectedError } from '../../../handlers';
import type { TasksEnded } from '../../../workflows/definitions';
import { eventually } from '../../helpers/eventually';
import { startMuster } from '../../helpers/muster';
import type { TestMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';
import type { Receiver } from './receiver';
import { messagesOf, SECRET, startReceiver } from './receiver';

/** A batch that is bisected until its poison task is alone: every end is told once. */

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

import type { EndedTasks, TaskInput } from '../../client';
import { defineHandler } from '../../handlers';
import type { MetricsServer } from '../../workers/metrics/server';
import { startMetrics } from '../../workers/metrics/server';
import type { TasksEnded } from '../../workflows/definitions';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import type { Receiver } from '../services/notifier/receiver';
import { messagesOf, SECRET, startReceiver } from '../services/notifier/receiver';

/** `coalesceBy`: of waiting tasks with one key only the last is sent; each of them ends once. */

interface Update {
  index: string;
  doc: string;
}

const sent: string[][] = [];
let meanwhile: () => Promise<void> = () => Promise.resolve();
const docs = defineHandler<Update>({
  name: 'docs',
  target: ({ index }) => index,
  coalesceBy: ({ doc }) => doc,
  limits: { maxItems: 10 },
  linger: { lingerMs: 50 },
  retry: { delayed: { baseMs: 30_000, maxMs: 30_000 } },
  submit: async ({ tasks }) => {
    sent.push(tasks.map(({ id }) => id));
    await meanwhile();
    return {
      results: tasks.map(({ id }) => ({ id, status: id.startsWith('retried') ? ('retry' as const) : ('ok' as const) })),
    };
  },
});

const heard: EndedTasks[] = [];
let muster: TestMuster;
let receiver: Receiver;
let metrics: MetricsServer;
beforeAll(async () => {
  receiver = await startReceiver();
  muster = await startMuster([docs], {
    hooks: { taskEnded: (event) => void heard.push(event) },
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET },
  });
  metrics = await startMetrics({
    pool: muster.database.pool,
    port: 0,
    outcomeMeters: muster.node.deps.outcomes?.meters,
  });
});
afterAll(async () => {
  await metrics.stop();
  await expectWhole(muster.client);
  await muster.stop();
  await receiver.close();
});
beforeEach(() => {
  sent.splice(0);
  heard.splice(0);
  receiver.received.splice(0);
  meanwhile = () => Promise.resolve();
});

const update = (id: string, doc: string, rest: Partial<TaskInput<Update>> = {}): TaskInput<Update> => ({
  ...{ id, payload: { index: id.split('.')[0]!, doc } },
  ...rest,
});
const statesOf = async (...ids: string[]): Promise<string[]> =>
  (await muster.client.getTasks(ids)).map((task) => `${task.state} ${task.error ?? ''}`.trim());
const cancelled = async (): Promise<number> => {
  const text = await (await fetch(`${metrics.url}/metrics`)).text();
  return Number(/^muster_task_ends_total\{handler="docs",state="cancelled"\} (\d+)$/m.exec(text)![1]);
};

test('the last goes in the place of the first; the others are cancelled, and who waits for them is told', async () => {
  const { client } = muster;
  const before = await cancelled();
  const callback = { url: `${receiver.url}/ends` };
  await client.pause('docs');
  await client.submit('docs', [
    update('a.7.1', 'seven', { callback }),
    update('a.8.1', 'eight', { callback }),
    update('a.7.2', 'seven', { callback }),
    update('a.7.3', 'seven', { callback }),
  ]);
  await client.submit('docs', [
    update('a.fails', 'nine', { dependsOn: ['a.7.1'] }),
    update('a.runs', 'ten', { dependsOn: ['a.7.2'], onDependencyFailure: 'run' }),
  ]);
  await client.resume('docs');
  const ids = ['a.7.1', 'a.7.2', 'a.7.3', 'a.8.1', 'a.fails', 'a.runs'];
  await client.waitFor(ids, { timeoutMs: 60_000 });
  expect(sent).toEqual([['a.7.3', 'a.8.1'], ['a.runs']]);
  expect(await statesOf(...ids)).toEqual([
    'cancelled superseded by task a.7.3',
    'cancelled superseded by task a.7.3',
    'succeeded',
    'succeeded',
    expect.stringMatching(/^failed .*a\.7\.1/),
    'succeeded',
  ]);
  const ends = heard.filter(({ attempt }) => attempt === 0);
  const batch = (await client.getTask('a.7.3'))!.batch;
  expect(ends).toEqual([
    {
      ...{ handler: 'docs', target: 'a', batch: String(batch), attempt: 0 },
      tasks: ['a.7.1', 'a.7.2'].map((id) => ({ id, state: 'cancelled', error: 'superseded by task a.7.3' })),
    },
  ]);
  expect(await cancelled()).toBe(before + 2);
  await eventually(() => receiver.received.length === 2);
  const told = messagesOf<TasksEnded>(receiver).map(({ data }) => data);
  expect(told.find(({ batch: of }) => of === null)).toEqual({
    ...{ handler: 'docs', target: 'a', batch: null },
    tasks: ['a.7.1', 'a.7.2'].map((id) => ({ id, state: 'cancelled', error: 'superseded by task a.7.3' })),
  });
  expect(told.find(({ batch: of }) => of !== null)!.tasks).toEqual([
    { id: 'a.7.3', state: 'succeeded' },
    { id: 'a.8.1', state: 'succeeded' },
  ]);
});

test('what is in a batch is never superseded: an update during the call goes in the next one', async () => {
  const { client } = muster;
  meanwhile = async () => {
    meanwhile = () => Promise.resolve();
    await client.submit('docs', [update('b.2', 'one'), update('b.3', 'one')]);
  };
  await client.submit('docs', update('b.1', 'one'));
  await client.waitFor(['b.1'], { timeoutMs: 60_000 });
  await client.waitFor(['b.2', 'b.3'], { timeoutMs: 60_000 });
  expect(sent).toEqual([['b.1'], ['b.3']]);
  expect(await statesOf('b.1', 'b.2', 'b.3')).toEqual(['succeeded', 'cancelled superseded by task b.3', 'succeeded']);
});

test('a delayed task counts once its time has come, a retry is superseded by what was submitted after it', async () => {
  const { client, database } = muster;
  await client.submit('docs', [update('retried.1', 'one')]);
  await eventually(async () => (await client.getTask('retried.1'))!.attempts === 1);
  await client.pause('docs');
  await client.submit('docs', [
    update('retried.2', 'two', { notBefore: Date.now() + 3_600_000 }),
    update('retried.3', 'two'),
    update('retried.4', 'one'),
  ]);
  await database.pool.query('update delayed set not_before = clock()');
  await client.resume('docs');
  await client.waitFor(['retried.1', 'retried.2'], { timeoutMs: 60_000 });
  expect(await statesOf('retried.1', 'retried.2')).toEqual([
    'cancelled superseded by task retried.4',
    'cancelled superseded by task retried.3',
  ]);
  expect(await client.getTask('retried.1')).toMatchObject({ attempts: 1 });
  await client.cancel(['retried.3', 'retried.4']);
});

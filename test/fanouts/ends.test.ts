import { messagesOf, SECRET, startReceiver } from '../services/notifier/receiver';
import type { Receiver } from '../services/notifier/receiver';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';

/**
 * Completion reaches a webhook (signed) or a waiting client; a workflow: helper.test.ts. On a whole
 * Muster.
 */

let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  muster = await startMuster([], { callbacks: { allow: ['127.0.0.1:*'], secret: SECRET } });
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());
afterAll(() => muster.stop());

const messages = () => messagesOf<Record<string, unknown>>(receiver);

test('one signed message of the completion, with the user key; repeated acks and seals send no other [D3]', async () => {
  const notify = { url: `${receiver.url}/done` };
  const { id } = await muster.client.openFanout({ userKey: 'import 17', notify });
  const added = await muster.client.addItems(id, 300);
  const sealed = await muster.client.sealFanout(id);
  expect(sealed.completed).toBeNull();
  const answers = await Promise.all([muster.client.ackItems(added), muster.client.ackItems([...added].reverse())]);
  const completed = answers.flatMap((answer) => answer.completed);
  expect(completed).toEqual([{ id, userKey: 'import 17', items: 300, completedAt: expect.any(String) }]);
  await eventually(() => receiver.received.length > 0);
  await muster.client.ackItems(added);
  await muster.client.sealFanout(id);
  expect(messages()).toEqual([
    {
      type: 'fanout.completed',
      timestamp: completed[0]!.completedAt,
      data: {
        type: 'fanout.completed',
        fanout: id,
        userKey: 'import 17',
        items: 300,
        endedAt: completed[0]!.completedAt,
      },
    },
  ]);
  const { rows } = await muster.database.pool.query('select attempts from notification where fanout_id is not null');
  expect(rows).toEqual([{ attempts: 1 }]);
});

test('the client library: a client that waits resolves with the seal that finds nothing left, or with the last ack [D3 D15]', async () => {
  const { id } = await muster.client.openFanout({ segmentSize: 5 });
  const added = await muster.client.addItems(id, 23);
  const seen: string[] = [];
  const waiting = muster.client.waitForFanout(id, {
    onProgress: ({ state, open }) => void seen.push(`${state} ${open}`),
  });
  await eventually(() => seen.includes('open 23'));
  await muster.client.ackItems(added);
  await eventually(() => seen.includes('open 0'));
  await muster.client.sealFanout(id);
  expect(await waiting).toMatchObject({ id, state: 'complete', items: 23, open: 0 });
  expect(seen.at(-1)).toBe('complete 0');
});

test('waitForFanout: a timeout has a code of its own, an abort its reason; the fan-out goes on', async () => {
  const { id } = await muster.client.openFanout();
  await muster.client.addItems(id, 1);
  await muster.client.sealFanout(id);
  await expect(muster.client.waitForFanout(id, { timeoutMs: 50 })).rejects.toMatchObject({
    code: 'TIMEOUT',
    message: expect.stringContaining('sealed with 1 open segments after 50 ms'),
  });
  const stop = new AbortController();
  const waiting = muster.client.waitForFanout(id, {
    signal: stop.signal,
    onProgress: () => setTimeout(() => stop.abort('enough'), 60),
  });
  await expect(waiting).rejects.toBe('enough');
  expect((await muster.client.getFanout(id))!.state).toBe('sealed');
});

test('what the sweeper gives up is told, as another event [D14]', async () => {
  const { id } = await muster.client.openFanout({ userKey: 'left', notify: { url: `${receiver.url}/left` } });
  // The sweeper looks once a minute; what it does is begun by hand.
  await muster.client.reapFanouts({ openIdleMs: 0 });
  await eventually(() => receiver.received.length === 1);
  expect(messages()[0]).toMatchObject({ type: 'fanout.expired', data: { fanout: id, userKey: 'left', items: 0 } });
  expect((await muster.client.getFanout(id))!.state).toBe('expired');
});

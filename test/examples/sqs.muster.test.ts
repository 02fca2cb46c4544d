import { CreateQueueCommand, GetQueueAttributesCommand, GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { createSqsClient, sendMessageHandler } from '../../examples/sqs/handler';
import type { MessagePayload } from '../../examples/sqs/message';
import type { ExampleProcess } from '../../examples/support/child';
import type { TestMuster } from '../helpers/muster';
import { Examples, getJson, sampleTasks } from './helpers';
import { present, startWith, taskEnds, untilEnded } from './throughMuster';

/** @slow */

/** SQS through the whole of Muster: client, store, leader, dispatch, moto. */
const examples = new Examples();
const region = 'us-east-1';
let server: ExampleProcess;
let sqs: ReturnType<typeof createSqsClient>;
const musters: TestMuster[] = [];

beforeAll(async () => {
  server = await examples.start('sqs/server', ['--queues', 'orders,mails'], { readyMs: 300_000 });
  sqs = createSqsClient({ region, endpoint: server.url });
}, 310_000);
afterEach(async () => {
  await Promise.all(musters.splice(0).map((muster) => muster.stop()));
});
afterAll(async () => {
  sqs.destroy();
  await examples.stopAll();
});

async function start(endpoint: string, onUnknown: 'park' | 'resend'): Promise<TestMuster> {
  const muster = await startWith([sendMessageHandler({ region, endpoint, onUnknown })]);
  musters.push(muster);
  return muster;
}

/** Messages in a queue, those that are still delayed too. */
async function depth(QueueName: string): Promise<number> {
  const { QueueUrl } = await sqs.send(new GetQueueUrlCommand({ QueueName }));
  const AttributeNames = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesDelayed'] as const;
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...AttributeNames] }),
  );
  return AttributeNames.reduce((sum, name) => sum + Number(Attributes?.[name] ?? 0), 0);
}

const messages = (queue: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `${queue}-${n}`, payload: { queue, body: `message ${n}` } }));

test('the sample: 14 messages are in their queues, the one that SQS refuses fails alone, with its reason [H1]', async () => {
  const muster = await start(server.url, 'park');
  const tasks = sampleTasks<MessagePayload>('examples/sqs/tasks.ndjson');
  await muster.client.submit('sqs-send', tasks);

  expect(present(await untilEnded(muster, 15))).toEqual({ succeeded: 14, failed: 1 });
  expect((await taskEnds(muster)).get('order-1004')).toMatchObject({
    state: 'failed',
    attempts: 1,
    error: expect.stringContaining('DelaySeconds'),
  });
  expect([await depth('orders'), await depth('mails')]).toEqual([11, 3]);
});

test('lost answers with onUnknown park: every task of the call is unknown and waits for a person, nothing is sent twice [H3]', async () => {
  await sqs.send(new CreateQueueCommand({ QueueName: 'parked' }));
  const proxy = await examples.lossyProxy(server.url, 2, 'SendMessageBatch');
  const muster = await start(proxy.url, 'park');
  await muster.client.submit('sqs-send', messages('parked', 20));

  expect(present(await untilEnded(muster, 20))).toEqual({ succeeded: 10, unknown: 10 });
  const parked = [...(await taskEnds(muster)).values()].filter(({ state }) => state === 'unknown');
  expect(parked[0]).toMatchObject({ attempts: 1, error: expect.any(String) });
  // They are all there: what was lost is the answer.
  expect(await depth('parked')).toBe(20);
  expect(await getJson(`${proxy.url}/_proxy/stats`)).toEqual({ calls: 2, lost: 1 });
});

test('lost answers with onUnknown resend: all succeed, at least once, and the doubles are in the queue [H3]', async () => {
  await sqs.send(new CreateQueueCommand({ QueueName: 'resent' }));
  const proxy = await examples.lossyProxy(server.url, 2, 'SendMessageBatch');
  const muster = await start(proxy.url, 'resend');
  await muster.client.submit('sqs-send', messages('resent', 20));

  expect(present(await untilEnded(muster, 20))).toEqual({ succeeded: 20 });
  expect(await getJson(`${proxy.url}/_proxy/stats`)).toEqual({ calls: 3, lost: 1 });
  expect(await depth('resent')).toBe(30);
});

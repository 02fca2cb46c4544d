import { faultsIn } from '../handlers/build';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ReceiveMessageCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { outcomes } from '../../examples/sqs/entries';
import { createSqsClient, sendMessageHandler } from '../../examples/sqs/handler';
import type { MessagePayload } from '../../examples/sqs/message';
import { refusal } from '../../examples/sqs/refusal';
import type { ExampleProcess } from '../../examples/support/child';
import {
  buildBatch,
  buildContext,
  countByStatus,
  Examples,
  getJson,
  outcomeOf,
  rejection,
  resultsOf,
  sampleTasks,
} from './helpers';
import { distPath } from './paths';

/** @full */

// The first run of a machine installs the server.
const INSTALL_MS = 300_000;
const region = 'us-east-1';
const examples = new Examples();
let server: ExampleProcess;
let client: SQSClient;

beforeAll(async () => {
  server = await examples.start('sqs/server', [], { readyMs: INSTALL_MS });
  client = createSqsClient({ region, endpoint: server.url });
}, INSTALL_MS);
afterAll(async () => {
  client.destroy();
  await examples.stopAll();
});

async function createQueue(queue: string): Promise<void> {
  await client.send(new CreateQueueCommand({ QueueName: queue }));
}

const queueUrl = async (queue: string) => (await client.send(new GetQueueUrlCommand({ QueueName: queue }))).QueueUrl;

/** Messages in a queue, those that are delayed too. */
async function depth(queue: string): Promise<number> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({ QueueUrl: await queueUrl(queue), AttributeNames: ['All'] }),
  );
  const { ApproximateNumberOfMessages: ready, ApproximateNumberOfMessagesDelayed: delayed } = Attributes ?? {};
  return Number(ready) + Number(delayed);
}

const messages = (queue: string, count: number): MessagePayload[] =>
  Array.from({ length: count }, (_, index) => ({ queue, body: `message ${index}` }));

describe('sqs-send', () => {
  it('an entry that SQS refuses fails alone, the other nine are sent [H1]', async () => {
    await createQueue('partial');
    const handler = sendMessageHandler({ region, endpoint: server.url, onUnknown: 'park' });
    const payloads = messages('partial', 10).map((message, index) =>
      index === 3 ? { ...message, delaySeconds: 1_000 } : message,
    );

    const results = await resultsOf(await handler.submit(buildBatch(handler, payloads), buildContext()));

    expect(countByStatus(results)).toEqual({ ok: 9, failed: 1 });
    expect(results.find((result) => result.status === 'failed')).toMatchObject({
      index: 3,
      error: expect.stringContaining('DelaySeconds must be >= 0 and <= 900'),
    });
    expect(await depth('partial')).toBe(9);
  });

  it('sends body and attributes as they are, whatever the id of the task', async () => {
    await createQueue('content');
    const handler = sendMessageHandler({ region, endpoint: server.url, onUnknown: 'park' });
    const payload = { queue: 'content', body: '{"grüße":"aus Köln"}', attributes: { source: 'shop' } };
    const batch = buildBatch(handler, [payload], () => "'; drop table \u{1f5d1} ../..");
    expect(countByStatus(await resultsOf(await handler.submit(batch, buildContext())))).toEqual({ ok: 1 });

    const QueueUrl = await queueUrl('content');
    const { Messages } = await client.send(new ReceiveMessageCommand({ QueueUrl, MessageAttributeNames: ['All'] }));
    expect(Messages?.[0]).toMatchObject({ Body: payload.body, MessageAttributes: { source: { StringValue: 'shop' } } });
  });

  it('a lost answer is an unknown outcome; parked nothing is doubled, resent everything may be [H3]', async () => {
    await createQueue('lossy');
    const proxy = await examples.lossyProxy(server.url, 2, 'SendMessageBatch');
    const park = sendMessageHandler({ region, endpoint: proxy.url, onUnknown: 'park' });
    const resend = sendMessageHandler({ region, endpoint: proxy.url, onUnknown: 'resend' });
    expect([park, resend].map(({ idempotency, onUnknown }) => [idempotency, onUnknown])).toEqual([
      ['none', 'park'],
      ['none', 'resend'],
    ]);

    const batch = buildBatch(resend, messages('lossy', 10));
    await resend.submit(batch, buildContext());
    const lost = await outcomeOf(resend, batch);

    // Though all ten are in the queue.
    expect(lost.kind).toBe('unknown');
    expect(await depth('lossy')).toBe(20);
    expect(await getJson(`${proxy.url}/_proxy/stats`)).toEqual({ calls: 2, lost: 1 });
    await resend.submit(batch, buildContext());
    expect(await depth('lossy')).toBe(30);
  });

  it('a queue that does not exist halts, with the reason [H4]', async () => {
    const handler = sendMessageHandler({ region, endpoint: server.url, onUnknown: 'park' });
    const halted = await rejection(handler.submit(buildBatch(handler, messages('nowhere', 2)), buildContext()));
    expect(halted).toMatchObject({ name: 'HaltError', message: expect.stringContaining('QueueDoesNotExist') });
  });

  it('what SQS refuses for its content is a RejectedError: 11 entries, a body beyond the queue limit [H4]', async () => {
    await createQueue('strict');
    const handler = sendMessageHandler({ region, endpoint: server.url, onUnknown: 'park' });
    const eleven = await rejection(handler.submit(buildBatch(handler, messages('strict', 11)), buildContext()));
    const huge = [{ queue: 'strict', body: 'x'.repeat(1_100_000) }, ...messages('strict', 1)];
    const tooLong = await rejection(handler.submit(buildBatch(handler, huge), buildContext()));
    expect(eleven).toMatchObject({ name: 'RejectedError', message: expect.stringContaining('TooManyEntries') });
    expect(tooLong).toMatchObject({ name: 'RejectedError', message: expect.stringContaining('BatchRequestTooLong') });
    expect(await depth('strict')).toBe(0);
  });

  it('a server that is not there is a LaterError, for a queue that is known already too [H5]', async () => {
    await createQueue('gone');
    const proxy = await examples.lossyProxy(server.url, 0);
    // In a separate process: under jest node's errors are of another realm, and the SDK wraps
    // those until nothing is left.
    const script = `
      const [, handlerPath, endpoint, pid] = process.argv;
      const handler = require(handlerPath).sendMessageHandler({ region: 'us-east-1', endpoint, onUnknown: 'park' });
      const task = { id: 'a', attempts: 0, payload: { queue: 'gone', body: 'hello' } };
      const batch = { id: 'b', handler: handler.name, target: 'gone', tasks: [task], epoch: 1, attempt: 1 };
      const submit = () => handler.submit(batch, { signal: new AbortController().signal, idempotencyKey: 'k', deadline: 0 });
      const isAlive = () => { try { return process.kill(Number(pid), 0); } catch { return false; } };
      (async () => {
        await submit();
        process.kill(Number(pid));
        while (isAlive()) await new Promise((resolve) => setTimeout(resolve, 20));
        await submit().catch((error) => console.log(error.name + ' ' + error.message));
      })();`;
    const handlerPath = distPath('examples/sqs/handler.js');
    const { stdout } = await promisify(execFile)(process.execPath, [
      '-e',
      script,
      handlerPath,
      proxy.url,
      String(proxy.pid),
    ]);
    expect(stdout).toMatch(/^LaterError .*ECONNREFUSED/);
  });

  it('counts bytes as SQS does: the body in UTF-8, and name, type and value of each attribute [H6]', () => {
    const handler = sendMessageHandler({ region, endpoint: server.url, onUnknown: 'park' });
    expect(handler.limits).toMatchObject({ maxItems: 10, maxBytes: 262_144 });
    expect(handler.bytesOf({ queue: 'q', body: 'äb', attributes: { src: 'ö' } }, 'id')).toBe(3 + 3 + 6 + 2);
  });

  it('its sample file fits its schema', () => {
    const handler = sendMessageHandler({ region, endpoint: server.url, onUnknown: 'park' });
    const tasks = sampleTasks<MessagePayload>('examples/sqs/tasks.ndjson');
    expect(tasks.filter((task) => faultsIn(handler, task.payload).length > 0)).toEqual([]);
    expect(new Set(tasks.map((task) => task.id)).size).toBe(15);
  });
});

describe('what SQS says', () => {
  it("the sender's fault is failed, the service's is retry, silence is left out [H1]", () => {
    const answer = {
      Successful: [{ Id: '0', MessageId: 'm', MD5OfMessageBody: '' }],
      Failed: [
        { Id: '1', SenderFault: true, Code: 'InvalidMessageContents', Message: 'bad character' },
        { Id: '2', SenderFault: false, Code: 'InternalError', Message: 'try again' },
      ],
    };
    expect(outcomes(answer)).toEqual([
      { index: 0, status: 'ok', result: { messageId: 'm' } },
      { index: 1, status: 'failed', error: 'InvalidMessageContents: bad character' },
      { index: 2, status: 'retry', error: 'InternalError: try again' },
    ]);
  });

  it.each([
    ['ThrottlingException', 400, 'LaterError'],
    ['RequestThrottled', 403, 'LaterError'],
    ['ServiceUnavailable', 503, 'LaterError'],
    ['QueueDoesNotExist', 400, 'HaltError'],
    ['InvalidClientTokenId', 403, 'HaltError'],
    ['SomethingNew', 401, 'HaltError'],
    ['InvalidMessageContents', 400, 'RejectedError'],
    ['InternalFailure', 500, undefined],
    ['TimeoutError', undefined, undefined],
  ])('%s with status %s is %s [H2]', (name, httpStatusCode, expected) => {
    const error = Object.assign(new Error('why'), { name, $metadata: { httpStatusCode } });
    expect(refusal(error)?.name).toBe(expected);
  });
});

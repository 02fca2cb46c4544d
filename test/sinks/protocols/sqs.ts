import { CreateQueueCommand, GetQueueAttributesCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { sqsSink } from '../../../handlers/sinks/sqs';
import type { At } from './sent';
import { OK, sent, ten } from './sent';

/** Queues of a server that speaks SQS' protocol. */
export class Queues {
  private readonly client: SQSClient;

  constructor(at: At) {
    this.client = new SQSClient({ ...at, useQueueUrlAsEndpoint: false });
  }

  async create(QueueName: string, Attributes?: Record<string, string>): Promise<string> {
    return (await this.client.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl!;
  }

  async depth(QueueUrl: string): Promise<number> {
    const AttributeNames = ['ApproximateNumberOfMessages' as const];
    const { Attributes } = await this.client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));
    return Number(Attributes?.ApproximateNumberOfMessages);
  }

  async first(QueueUrl: string) {
    const receive = new ReceiveMessageCommand({ QueueUrl, MessageAttributeNames: ['All'] });
    return (await this.client.send(receive)).Messages?.[0];
  }

  close(): void {
    this.client.destroy();
  }
}

/** Tests the sink of SQS against a server, which `at` gives once it has started. */
export const testSqs = (at: () => At): void => {
  let queues: Queues;
  beforeAll(() => {
    queues = new Queues(at());
  });
  afterAll(() => queues.close());

  test('bodies and attributes arrive, and an absent queue halts', async () => {
    const queueUrl = await queues.create('standard');
    const handler = sqsSink({ name: 'sqs', ...at() });
    const payloads = ten((n) => ({ queueUrl, body: `{"n":${n},"ä":"€"}`, attributes: { source: 'shop' } }));
    expect(await sent(handler, payloads)).toEqual(OK);
    expect(await queues.depth(queueUrl)).toBe(10);
    expect(await queues.first(queueUrl)).toMatchObject({
      Body: expect.stringContaining('"ä":"€"'),
      MessageAttributes: { source: { StringValue: 'shop' } },
    });
    const nowhere = payloads.map((payload) => ({ ...payload, queueUrl: `${queueUrl}-nowhere` }));
    expect(await sent(handler, nowhere)).toMatchObject({
      kind: 'halted',
      error: expect.stringContaining('QueueDoesNotExist'),
    });
  });

  test('FIFO: a batch that is sent twice is in the queue once', async () => {
    const queueUrl = await queues.create('ordered.fifo', { FifoQueue: 'true' });
    const handler = sqsSink({ name: 'sqs', fifo: true, ...at() });
    const payloads = ten((n) => ({ queueUrl, body: `message ${n}`, groupId: `group-${n}` }));
    expect([await sent(handler, payloads), await sent(handler, payloads)]).toEqual([OK, OK]);
    expect(await queues.depth(queueUrl)).toBe(10);
  });
};

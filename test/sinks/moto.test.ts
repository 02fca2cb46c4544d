import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { CreateTableCommand, DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { CreateDeliveryStreamCommand, FirehoseClient } from '@aws-sdk/client-firehose';
import {
  CreateStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  KinesisClient,
} from '@aws-sdk/client-kinesis';
import { CreateTopicCommand, SNSClient, SubscribeCommand } from '@aws-sdk/client-sns';
import { CreateQueueCommand, GetQueueAttributesCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { NodeHttpHandler } from '@smithy/node-http-handler';
import type { ExampleProcess } from '../../examples/support/child';
import type { Handler } from '../../handlers';
import { dynamodbSink } from '../../handlers/sinks/dynamodb';
import { eventbridgeSink } from '../../handlers/sinks/eventbridge';
import { firehoseSink } from '../../handlers/sinks/firehose';
import { kinesisSink } from '../../handlers/sinks/kinesis';
import { snsSink } from '../../handlers/sinks/sns';
import { sqsSink } from '../../handlers/sinks/sqs';
import { buildBatch, Examples, outcomeOf } from '../examples/helpers';

/** The sinks of AWS against moto, a server of the protocols that others wrote. */

const INSTALL_MS = 310_000;
const aws = { region: 'us-east-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
const examples = new Examples();
let server: ExampleProcess;
let at: typeof aws & { endpoint: string };
let sqs: SQSClient;

beforeAll(async () => {
  server = await examples.start('sqs/server', ['--queues', ''], { readyMs: INSTALL_MS });
  at = { ...aws, endpoint: server.url };
  sqs = new SQSClient({ ...at, useQueueUrlAsEndpoint: false });
}, INSTALL_MS);
afterAll(async () => {
  sqs.destroy();
  await examples.stopAll();
});

const OK = { kind: 'results', deviants: [] };
const ten = <T>(make: (n: number) => T): T[] => Array.from({ length: 10 }, (_, n) => make(n));
const sent = <P>(handler: Handler<P>, payloads: readonly P[], prefix = 'task') =>
  outcomeOf(
    handler,
    buildBatch(handler, payloads, (n) => `${prefix} ${n}: äöü`),
  );

async function createQueue(QueueName: string, Attributes?: Record<string, string>): Promise<string> {
  return (await sqs.send(new CreateQueueCommand({ QueueName, Attributes }))).QueueUrl!;
}
async function depth(QueueUrl: string): Promise<number> {
  const AttributeNames = ['ApproximateNumberOfMessages' as const];
  const { Attributes } = await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames }));
  return Number(Attributes?.ApproximateNumberOfMessages);
}

test('SQS: bodies and attributes arrive, and an absent queue halts', async () => {
  const queueUrl = await createQueue('standard');
  const handler = sqsSink({ name: 'sqs', ...at });
  const payloads = ten((n) => ({ queueUrl, body: `{"n":${n},"ä":"€"}`, attributes: { source: 'shop' } }));
  expect(await sent(handler, payloads)).toEqual(OK);
  expect(await depth(queueUrl)).toBe(10);
  const receive = new ReceiveMessageCommand({ QueueUrl: queueUrl, MessageAttributeNames: ['All'] });
  const { Messages } = await sqs.send(receive);
  expect(Messages?.[0]).toMatchObject({
    Body: expect.stringContaining('"ä":"€"'),
    MessageAttributes: { source: { StringValue: 'shop' } },
  });
  const nowhere = payloads.map((payload) => ({ ...payload, queueUrl: `${queueUrl}-nowhere` }));
  expect(await sent(handler, nowhere)).toMatchObject({
    kind: 'halted',
    error: expect.stringContaining('QueueDoesNotExist'),
  });
});

test('SQS FIFO: a batch that is sent twice is in the queue once', async () => {
  const queueUrl = await createQueue('ordered.fifo', { FifoQueue: 'true' });
  const handler = sqsSink({ name: 'sqs', fifo: true, ...at });
  const payloads = ten((n) => ({ queueUrl, body: `message ${n}`, groupId: `group-${n}` }));
  expect([await sent(handler, payloads), await sent(handler, payloads)]).toEqual([OK, OK]);
  expect(await depth(queueUrl)).toBe(10);
});

test('SQS: one message that is too long is refused with its call, and halving finds it', async () => {
  const queueUrl = await createQueue('short', { MaximumMessageSize: '1024' });
  const handler = sqsSink({ name: 'sqs', ...at });
  const payloads = [
    { queueUrl, body: 'x'.repeat(2_000) },
    { queueUrl, body: 'short' },
  ];
  expect(await sent(handler, payloads)).toMatchObject({ kind: 'rejected' });
  expect(await sent(handler, payloads.slice(1))).toEqual(OK);
});

test('SNS: messages reach a subscribed queue, and an absent topic halts', async () => {
  const sns = new SNSClient(at);
  const { TopicArn: topicArn = '' } = await sns.send(new CreateTopicCommand({ Name: 'news' }));
  const queueUrl = await createQueue('subscriber');
  const Endpoint = `arn:aws:sqs:${at.region}:123456789012:subscriber`;
  await sns.send(new SubscribeCommand({ TopicArn: topicArn, Protocol: 'sqs', Endpoint }));
  const handler = snsSink({ name: 'sns', ...at });
  expect(
    await sent(
      handler,
      ten((n) => ({ topicArn, message: `news ${n}`, subject: 'S' })),
    ),
  ).toEqual(OK);
  expect(await depth(queueUrl)).toBe(10);
  const absent = [{ topicArn: `${topicArn}-absent`, message: 'm' }];
  expect(await sent(handler, absent)).toMatchObject({ kind: 'halted', error: expect.stringContaining('NotFound') });
  sns.destroy();
});

test('Kinesis: records are in the stream in their order, and an absent stream halts', async () => {
  const client = new KinesisClient({ ...at, requestHandler: new NodeHttpHandler() });
  await client.send(new CreateStreamCommand({ StreamName: 'events', ShardCount: 1 }));
  const handler = kinesisSink({ name: 'kinesis', ...at });
  const payloads = ten((n) => ({ stream: 'events', partitionKey: 'p', data: `event ${n} ä` }));
  expect(await sent(handler, payloads)).toEqual(OK);
  const shard = { StreamName: 'events', ShardId: 'shardId-000000000000', ShardIteratorType: 'TRIM_HORIZON' as const };
  const { ShardIterator } = await client.send(new GetShardIteratorCommand(shard));
  const { Records = [] } = await client.send(new GetRecordsCommand({ ShardIterator }));
  expect(Records.map(({ Data }) => Buffer.from(Data!).toString())).toEqual(payloads.map(({ data }) => data));
  const absent = payloads.map((payload) => ({ ...payload, stream: 'absent' }));
  expect(await sent(handler, absent)).toMatchObject({ kind: 'halted' });
  client.destroy();
});

test('Firehose: records are taken, and an absent stream halts', async () => {
  const credential = `local/20260101/${at.region}/s3/aws4_request`;
  const signed = `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host, Signature=x`;
  const bucket = await fetch(`${at.endpoint}/bucket`, { method: 'PUT', headers: { authorization: signed } });
  expect(bucket.status).toBe(200);
  const client = new FirehoseClient(at);
  const S3DestinationConfiguration = { RoleARN: 'arn:aws:iam::123456789012:role/r', BucketARN: 'arn:aws:s3:::bucket' };
  await client.send(new CreateDeliveryStreamCommand({ DeliveryStreamName: 'logs', S3DestinationConfiguration }));
  const handler = firehoseSink({ name: 'firehose', ...at });
  const payloads = ten((n) => ({ stream: 'logs', data: `line ${n}\n` }));
  expect(await sent(handler, payloads)).toEqual(OK);
  const absent = payloads.map((payload) => ({ ...payload, stream: 'absent' }));
  expect(await sent(handler, absent)).toMatchObject({ kind: 'halted' });
  client.destroy();
});

test('EventBridge: events get their ids', async () => {
  const handler = eventbridgeSink({ name: 'events', ...at });
  const payloads = ten((n) => ({ bus: 'default', source: 'shop', detailType: 'ordered', detail: { n } }));
  expect(await sent(handler, payloads)).toEqual(OK);
});

describe('DynamoDB', () => {
  let client: DynamoDBClient;
  const scan = async (): Promise<Record<string, AttributeValue>[]> =>
    (await client.send(new ScanCommand({ TableName: 'cities' }))).Items ?? [];
  beforeAll(async () => {
    client = new DynamoDBClient(at);
    const create = new CreateTableCommand({
      TableName: 'cities',
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
    });
    await client.send(create);
  });
  afterAll(() => client.destroy());

  test('puts and deletes items of all kinds of JSON; the same batch again changes nothing', async () => {
    const handler = dynamodbSink({ name: 'dynamodb', keyAttributes: ['pk'], ...at });
    const item = (n: number) => ({ pk: `city-${n}`, n, big: true, none: null, list: [1, 'a'], map: { ä: '€' } });
    const puts = ten((n) => ({ table: 'cities', put: item(n) }));
    expect([await sent(handler, puts), await sent(handler, puts)]).toEqual([OK, OK]);
    const stored = await scan();
    expect(stored).toHaveLength(10);
    expect(stored.find(({ pk }) => pk?.S === 'city-3')).toEqual({
      pk: { S: 'city-3' },
      n: { N: '3' },
      big: { BOOL: true },
      none: { NULL: true },
      list: { L: [{ N: '1' }, { S: 'a' }] },
      map: { M: { ä: { S: '€' } } },
    });
    const deletes = ten((n) => ({ table: 'cities', delete: { pk: `city-${n}` } }));
    expect(await sent(handler, deletes.slice(0, 4))).toEqual(OK);
    expect(await scan()).toHaveLength(6);
  });

  test('an absent table halts, and an item that is refused rejects its call', async () => {
    const handler = dynamodbSink({ name: 'dynamodb', keyAttributes: ['pk'], ...at });
    const absent = [{ table: 'absent', put: { pk: 'x' } }];
    expect(await sent(handler, absent)).toMatchObject({ kind: 'halted' });
    const empty = [{ table: 'cities', put: { pk: '' } }];
    expect(await sent(handler, empty)).toMatchObject({ kind: 'rejected' });
  });
});
